"""Delta tables written by hand, with features that the `deltalake` writer does not support."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.index.deletion_vectors import encode

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


class HandWrittenDelta:
    """A Delta log written action by action."""

    def __init__(self, folder: Path, schema: dict, partitions=(), features=(), configuration=None):
        self.folder, self.version = folder, -1
        (folder / "_delta_log").mkdir(parents=True)
        self.commit(
            {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": list(features),
                    "writerFeatures": list(features),
                }
            },
            {
                "metaData": {
                    "id": str(uuid.uuid4()),
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": json.dumps(schema),
                    "partitionColumns": list(partitions),
                    "configuration": configuration or {},
                    "createdTime": 1,
                }
            },
        )

    def commit(self, *actions):
        self.version += 1
        lines = "\n".join(json.dumps(action) for action in actions)
        (self.folder / "_delta_log" / f"{self.version:020}.json").write_text(lines)

    def write(self, name: str, rows: pa.Table) -> int:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)
        return path.stat().st_size

    def add(self, logged: str, size: int, rows: int, values=None, deleted=()):
        """The action that adds a file, with its deletion vector in a separate file."""
        body = {
            "path": logged,
            "partitionValues": values or {},
            "size": size,
            "modificationTime": 1,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows}),
        }
        if deleted:
            name = uuid.uuid4()
            record = encode(list(deleted), bitmap64=True)
            (self.folder / f"deletion_vector_{name}.bin").write_bytes(b"\x01" + record)
            body["deletionVector"] = {
                "storageType": "u",
                "pathOrInlineDv": z85(name.bytes),
                "offset": 1,
                "sizeInBytes": len(record) - 8,
                "cardinality": len(deleted),
            }
        return {"add": body}

    def remove(self, added: dict):
        """The action that removes an added file; path and vector identify it."""
        body = {"path": added["add"]["path"], "dataChange": True, "deletionTimestamp": 1}
        vector = added["add"].get("deletionVector")
        return {"remove": body if vector is None else body | {"deletionVector": vector}}


def z85(data: bytes) -> str:
    out = ""
    for start in range(0, len(data), 4):
        value, text = int.from_bytes(data[start : start + 4], "big"), ""
        for _ in range(5):
            text = _Z85[value % 85] + text
            value //= 85
        out += text
    return out
