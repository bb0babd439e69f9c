//! Errors of a store, without the secrets that a response may echo.

use std::collections::HashMap;

use super::connect::Client;
use crate::error::EngineError;

const REDACTED: &str = "***REDACTED***";
/// Option keys whose values no message may show, besides what the caller lists.
const SECRET: [&str; 7] =
    ["access_key_id", "secret", "account_key", "token", "sas", "service_account_key", "proxy"];
/// The metadata services of clouds, which are the last source of credentials.
const MACHINE: [&str; 5] = [
    "169.254.169.254",
    "/latest/api/token",
    "/latest/meta-data",
    "/metadata/identity/",
    "/computeMetadata/",
];
const NO_CREDENTIALS: &str = "none were found in a credentials provider, the keys of this package, \
    Hadoop's keys, the environment, or the role of this machine";
/// Kerberos errors of a user without a ticket.
const NO_TICKET: [&str; 2] = ["GSS_S_NO_CRED", "GSS_S_CREDENTIALS_EXPIRED"];
const KINIT: &str = "this user has no valid Kerberos ticket; run kinit";
const WAITED: [&str; 4] = ["timed out", "timeout", "retries", "error sending request"];

/// What error messages must not contain, and what they say about a store that does not respond.
pub(super) struct Wording {
    /// Longest first: one may be part of another.
    secrets: Vec<String>,
    /// The limits of waiting, by the names of the settings.
    limits: String,
}

impl Wording {
    pub(super) fn new(options: &HashMap<String, String>) -> Wording {
        let listed = options.get("redact").and_then(|text| serde_json::from_str(text).ok());
        let mut secrets: Vec<String> = listed.unwrap_or_default();
        let named = |key: &str| SECRET.iter().any(|word| key.contains(word));
        secrets.extend(options.iter().filter(|(key, _)| named(key)).map(|(_, v)| v.clone()));
        secrets.retain(|secret| !secret.is_empty());
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        Wording { secrets, limits: options.get("limits").cloned().unwrap_or_default() }
    }

    fn strike(&self, mut text: String) -> String {
        for secret in &self.secrets {
            text = text.replace(secret, REDACTED);
        }
        text
    }
}

impl Client {
    /// The error of a request for an object.
    pub(super) fn failed(
        &self,
        path: &object_store::path::Path,
        error: object_store::Error,
    ) -> EngineError {
        use object_store::Error as E;
        let path = self.shown(path);
        match error {
            E::NotFound { .. } => EngineError::Missing { path },
            E::AlreadyExists { .. } | E::Precondition { .. } => EngineError::Exists { path },
            E::Generic { source, .. } if source.is::<EngineError>() => {
                source.downcast_ref::<EngineError>().map_or_else(
                    || EngineError::internal("an error lost its type"),
                    EngineError::clone,
                )
            }
            other => self.describe(path, &other),
        }
    }

    fn describe(&self, path: String, error: &object_store::Error) -> EngineError {
        use object_store::Error as E;
        let text = error.to_string();
        let detail = self.wording.strike(text.lines().next().unwrap_or_default().to_owned());
        for (signs, missing) in [(&MACHINE[..], NO_CREDENTIALS), (&NO_TICKET[..], KINIT)] {
            if signs.iter().any(|sign| detail.contains(sign)) {
                let detail = missing.to_owned();
                return EngineError::Credentials { url: self.url.to_string(), detail };
            }
        }
        match error {
            E::Unauthenticated { .. } => {
                EngineError::Credentials { url: self.url.to_string(), detail }
            }
            // the store rejected the request, so it had no effect
            E::PermissionDenied { .. }
            | E::InvalidPath { .. }
            | E::NotSupported { .. }
            | E::NotImplemented { .. } => EngineError::Refused { path, detail },
            _ if !self.wording.limits.is_empty() && WAITED.iter().any(|w| detail.contains(w)) => {
                let detail = format!("{detail}; {}", self.wording.limits);
                EngineError::Storage { path, detail }
            }
            _ => EngineError::Storage { path, detail },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    fn failed(options: &[(&str, &str)], error: object_store::Error) -> Result<EngineError> {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let url = url::Url::parse("s3://b/t").map_err(EngineError::internal)?;
        Ok(Client::new(url, options)?.failed(&"p".into(), error))
    }

    #[test]
    fn secrets_are_struck_out_of_messages() -> Result<()> {
        let options = [
            ("aws_secret_access_key", "hush"),
            ("aws_region", "r"),
            ("redact", r#"["quiet","quieter"]"#),
        ];
        let source = "hush quieter in r".into();
        let error = object_store::Error::Generic { store: "S3", source };
        let shown = failed(&options, error)?.to_string();
        assert!(!shown.contains("hush") && !shown.contains("quiet"), "{shown}");
        assert!(!shown.contains("er in") && shown.contains("in r"), "{shown}");
        Ok(())
    }

    #[test]
    fn the_limits_are_named_when_a_store_was_waited_for() -> Result<()> {
        let options = [("limits", "the limit is 3")];
        for (text, named) in [("operation timed out", true), ("broken", false)] {
            let error = object_store::Error::Generic { store: "S3", source: text.into() };
            let shown = failed(&options, error)?.to_string();
            assert_eq!(shown.contains("the limit is 3"), named, "{shown}");
        }
        Ok(())
    }
}
