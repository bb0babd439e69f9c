//! Temporary credentials from the caller's provider, renewed before they expire.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential};
use object_store::gcp::GcpCredential;
use serde::Deserialize;

use super::lock;
use crate::error::{EngineError, Result};

type Source = dyn Fn(&str) -> Result<String> + Send + Sync;

static SOURCE: OnceLock<Box<Source>> = OnceLock::new();

/// Sets the function that returns credentials: from a provider's description to JSON.
pub fn set_credentials_source(source: impl Fn(&str) -> Result<String> + Send + Sync + 'static) {
    let _ = SOURCE.set(Box::new(source));
}

type Values = HashMap<String, String>;

#[derive(Deserialize)]
struct Answer {
    values: Values,
    renew_at_ms: Option<u64>,
}

struct Held<T> {
    credential: Arc<T>,
    renew_at: Option<SystemTime>,
}

/// Credentials of one kind of store, cached while they are valid.
pub(super) struct Provider<T> {
    spec: String,
    convert: fn(&Values) -> Option<T>,
    held: Mutex<Option<Held<T>>>,
}

impl<T> Provider<T> {
    pub(super) fn new(spec: &str, convert: fn(&Values) -> Option<T>) -> Provider<T> {
        Provider { spec: spec.to_owned(), convert, held: Mutex::new(None) }
    }

    fn credential(&self) -> Result<Arc<T>> {
        let mut held = lock(&self.held);
        if let Some(held) = held.as_ref()
            && held.renew_at.is_none_or(|at| SystemTime::now() < at)
        {
            return Ok(held.credential.clone());
        }
        let source = SOURCE
            .get()
            .ok_or_else(|| EngineError::internal("nobody was named to give credentials"))?;
        let answer: Answer = serde_json::from_str(&source(&self.spec)?)?;
        let credential = (self.convert)(&answer.values)
            .map(Arc::new)
            .ok_or_else(|| EngineError::internal("credentials of another kind of store"))?;
        let renew_at =
            answer.renew_at_ms.map(|ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
        *held = Some(Held { credential: credential.clone(), renew_at });
        Ok(credential)
    }
}

// neither the description nor the credentials may be printed
impl<T> fmt::Debug for Provider<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Provider")
    }
}

#[async_trait]
impl<T: Send + Sync> CredentialProvider for Provider<T> {
    type Credential = T;

    async fn get_credential(&self) -> object_store::Result<Arc<T>> {
        // the provider may be slow: other requests continue in the meantime
        tokio::task::block_in_place(|| self.credential()).map_err(|error| {
            object_store::Error::Generic { store: "credentials", source: Box::new(error) }
        })
    }
}

pub(super) fn aws(values: &Values) -> Option<AwsCredential> {
    Some(AwsCredential {
        key_id: values.get("access_key_id")?.clone(),
        secret_key: values.get("secret_access_key")?.clone(),
        token: values.get("session_token").cloned(),
    })
}

pub(super) fn azure(values: &Values) -> Option<AzureCredential> {
    if let Some(key) = values.get("account_key") {
        return AzureAccessKey::try_new(key).ok().map(AzureCredential::AccessKey);
    }
    if let Some(token) = values.get("bearer_token") {
        return Some(AzureCredential::BearerToken(token.clone()));
    }
    // a plus stands for itself here, not for a space as in forms
    let query = values.get("sas_token")?.trim_start_matches('?').replace('+', "%2B");
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    Some(AzureCredential::SASToken(pairs.into_owned().collect()))
}

pub(super) fn google(values: &Values) -> Option<GcpCredential> {
    Some(GcpCredential { bearer: values.get("bearer_token")?.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_signature_keeps_its_characters() {
        let given = values(&[("sas_token", "?sv=2021&sig=a%2Bb+c%3D")]);
        let Some(AzureCredential::SASToken(pairs)) = azure(&given) else {
            panic!("no token");
        };
        assert_eq!(pairs[1], ("sig".to_owned(), "a+b+c=".to_owned()));
    }

    #[test]
    fn credentials_are_asked_for_again_when_due() -> Result<()> {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static ASKED: AtomicU64 = AtomicU64::new(0);
        set_credentials_source(|spec| {
            let renew = if spec == "short" { "1" } else { "null" };
            let number = ASKED.fetch_add(1, Relaxed);
            Ok(format!(r#"{{"values":{{"bearer_token":"{number}"}},"renew_at_ms":{renew}}}"#))
        });
        for (spec, requests) in [("short", 3), ("forever", 1)] {
            let before = ASKED.load(Relaxed);
            let provider = Provider::new(spec, google);
            for _ in 0..3 {
                provider.credential()?;
            }
            assert_eq!(ASKED.load(Relaxed) - before, requests, "{spec}");
            assert_eq!(format!("{provider:?}"), "Provider");
        }
        Ok(())
    }
}
