"""The columns every command answers with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.model.types import Atomic, DataType, Field, Struct
from indextables.sql import cache_commands as cache
from indextables.sql import commands as c
from indextables.sql import companion_commands as companion
from indextables.sql.tokens import Token, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = {"bigint": "long", "int": "integer"}


def columns(text: str) -> Struct:
    """The schema written as `name type, name struct<name type, ...>`."""
    tokens = iter(tokenize(text))
    return _fields(tokens)


def _fields(tokens: Iterator[Token]) -> Struct:
    """Takes one list of fields and the token that ends it."""
    fields: list[Field] = []
    more = True
    while more:
        name, kind = next(tokens).value, next(tokens).value
        found: DataType = Atomic(_NAMES.get(kind, kind))
        if kind == "struct":
            next(tokens)
            found = _fields(tokens)
        fields.append(Field(name, found))
        more = next(tokens).value == ","
    return Struct(tuple(fields))


_PROFILE = columns(
    "section string, category string, calls bigint, total_ms double, avg_us double, "
    "min_us double, max_us double"
)
_PROFILE_CACHE = columns("cache string, hits bigint, misses bigint, hit_rate double")
_CHECKPOINT = columns(
    "table_path string, status string, checkpoint_version bigint, num_actions bigint, "
    "num_files bigint, protocol_version bigint, is_multi_part boolean"
)
_STATUS = columns("status string")
_FLUSH = columns("cache_type string, status string, cleared_entries bigint, message string")
_PROFILER_SWITCH = columns("status string, host_count int, message string")
_LOG = columns(
    "version bigint, log_file_path string, action_type string, path string, "
    "partition_values string, size bigint, data_change boolean, tags string, "
    "modification_time timestamp, stats string, min_values string, max_values string, "
    "num_records bigint, footer_start_offset bigint, footer_end_offset bigint, "
    "hotcache_start_offset bigint, hotcache_length bigint, has_footer_offsets boolean, "
    "time_range_start string, time_range_end string, split_tags string, delete_opstamp bigint, "
    "num_merge_ops int, doc_mapping_json string, doc_mapping_ref string, "
    "uncompressed_size_bytes bigint, deletion_timestamp timestamp, "
    "extended_file_metadata boolean, skip_timestamp timestamp, skip_reason string, "
    "skip_operation string, skip_retry_after timestamp, skip_count int, "
    "protocol_min_reader_version int, protocol_min_writer_version int, "
    "protocol_reader_features string, protocol_writer_features string, metadata_id string, "
    "metadata_name string, metadata_description string, metadata_format_provider string, "
    "metadata_format_options string, metadata_schema_string string, "
    "metadata_partition_columns string, metadata_configuration string, "
    "metadata_created_time timestamp, is_checkpoint boolean, details string"
)

OUTPUTS: dict[type[c.Command], Struct] = {
    c.MergeSplits: columns(
        "table_path string, metrics struct<status string, merged_files bigint, "
        "merge_groups bigint, original_size_bytes bigint, merged_size_bytes bigint, "
        "message string>, temp_directory_path string, heap_size_bytes bigint"
    ),
    c.Purge: columns(
        "table_path string, metrics struct<status string, orphaned_files_found bigint, "
        "orphaned_files_deleted bigint, size_mb_deleted double, retention_hours bigint, "
        "tx_log_files_deleted bigint, expired_states_found bigint, expired_states_deleted bigint, "
        "dry_run boolean, duration_ms bigint, message string>"
    ),
    c.DropPartitions: columns(
        "table_path string, status string, partitions_dropped bigint, splits_removed bigint, "
        "total_size_bytes bigint, message string"
    ),
    c.Repair: columns(
        "source_path string, target_path string, source_version bigint, total_splits int, "
        "valid_splits int, missing_splits int, status string"
    ),
    c.InvalidateLogCache: columns(
        "table_path string, result string, cache_hits_before bigint, cache_misses_before bigint, "
        "hit_rate_before string"
    ),
    c.DescribeTransactionLog: _LOG,
    c.DescribeEnvironment: columns(
        "host string, role string, property_type string, property_name string, "
        "property_value string"
    ),
    c.DescribeState: columns(
        "table_path string, format string, version bigint, num_files bigint, num_manifests int, "
        "num_tombstones int, tombstone_ratio double, total_bytes bigint, "
        "needs_compaction boolean, status string"
    ),
    c.DescribeComponentSizes: columns(
        "split_path string, partition_values string, component_key string, size_bytes bigint, "
        "component_type string, field_name string"
    ),
    c.DescribeHistory: columns(
        "version bigint, timestamp timestamp, operation string, operation_parameters string, "
        "operation_metrics string, read_version bigint, is_blind_append boolean, "
        "engine_info string, user_metadata string"
    ),
    c.DescribeDetail: columns(
        "format string, id string, name string, description string, location string, "
        "created_at timestamp, last_modified timestamp, version bigint, "
        "partition_columns string, num_files bigint, num_records bigint, "
        "num_deleted_records bigint, size_in_bytes bigint, properties string, "
        "min_reader_version int, min_writer_version int, table_features string"
    ),
    c.DescribeMergeJobs: columns(
        "job_id string, table_path string, status string, total_groups int, "
        "completed_groups int, total_batches int, completed_batches int, progress_pct double, "
        "duration_ms bigint, error_message string"
    ),
    c.Checkpoint: _CHECKPOINT,
    c.Compact: _CHECKPOINT,
    c.TruncateTimeTravel: columns(
        "table_path string, status string, checkpoint_version bigint, versions_deleted bigint, "
        "checkpoints_deleted bigint, files_preserved bigint, message string"
    ),
    c.Restore: columns(
        "table_path string, status string, restored_version bigint, new_version bigint, "
        "num_restored_files bigint, num_removed_files bigint, restored_size_bytes bigint, "
        "removed_size_bytes bigint, table_num_files bigint, table_size_bytes bigint"
    ),
    cache.FlushSearcherCache: _FLUSH,
    cache.FlushDiskCache: columns(
        "executor_id string, cache_type string, status string, bytes_freed bigint, "
        "files_deleted bigint, message string"
    ),
    cache.FlushDataSkippingStats: _FLUSH,
    cache.InvalidateDataSkippingCache: _FLUSH,
    cache.DescribeDiskCache: columns(
        "executor_id string, host string, enabled boolean, total_bytes bigint, "
        "max_bytes bigint, usage_percent double, splits_cached bigint, components_cached bigint"
    ),
    cache.DescribeStorageStats: columns(
        "executor_id string, host string, bytes_fetched bigint, requests bigint"
    ),
    cache.DescribeDataSkippingStats: columns(
        "metric_type string, metric_name string, metric_value string"
    ),
    cache.PrewarmCache: columns(
        "host string, assigned_host string, locality_hits int, locality_misses int, "
        "splits_prewarmed int, segments string, fields string, duration_ms bigint, "
        "status string, skipped_fields string, retries int, failed_splits_by_host string, "
        "job_id string, async_mode boolean"
    ),
    cache.DescribePrewarmJobs: columns(
        "executor_id string, host string, job_id string, table_path string, status string, "
        "total_splits int, completed_splits int, progress_pct double, duration_ms bigint, "
        "error_message string"
    ),
    cache.WaitForPrewarmJobs: columns(
        "executor_id string, host string, job_id string, table_path string, status string, "
        "total_splits int, splits_prewarmed int, duration_ms bigint, error_message string"
    ),
    cache.EnableProfiler: _PROFILER_SWITCH,
    cache.DisableProfiler: _PROFILER_SWITCH,
    cache.DescribeProfiler: _PROFILE,
    cache.ResetProfiler: _PROFILE,
    cache.DescribeProfilerCache: _PROFILE_CACHE,
    cache.ResetProfilerCache: _PROFILE_CACHE,
    companion.BuildCompanion: columns(
        "table_path string, source_path string, status string, source_version bigint, "
        "splits_created int, splits_invalidated int, parquet_files_indexed int, "
        "parquet_bytes_downloaded bigint, split_bytes_uploaded bigint, duration_ms bigint, "
        "message string"
    ),
    companion.SetTableRoot: _STATUS,
    companion.UnsetTableRoot: _STATUS,
    companion.DescribeTableRoots: columns(
        "root_name string, root_path string, set_timestamp string"
    ),
}


def output_of(command: c.Command) -> Struct:
    """The columns this command answers with."""
    return OUTPUTS[type(command)]
