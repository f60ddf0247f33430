//! Configuration: one file, overridden by the environment, checked as a whole before anything starts.
//!
//! Unknown keys are errors, all faults are reported at once, and a file that is named and missing stops the start.
//! Secrets stand in files or variables that the configuration names, never in the configuration itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ids::TenantId;
use secrecy::SecretString;
use serde::Deserialize;

/// The settings of a process, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the server listens.
    pub listen: SocketAddr,
    /// Where the embedded data lie.
    pub data_dir: PathBuf,
    /// Further names that the server answers to, with port.
    pub hosts: Vec<String>,
    /// Foreign origins that may call it from a browser.
    pub origins: Vec<String>,
    /// The database; None for SQLite in the data directory.
    pub database_url: Option<SecretString>,
    /// Executions at one time.
    pub concurrency: usize,
    /// How long a worker's claim holds without renewal.
    pub lease: Duration,
    /// How long a model call waits for others to settle what they hold of a budget account.
    pub account_wait: Duration,
    /// How long an execution is kept after its end; None for ever.
    pub retention: Option<Duration>,
    /// Whether this process starts a local sandbox runtime.
    pub local_sandbox: bool,
    /// Which tenants it makes sandboxes for.
    pub local_tenants: LocalTenants,
    /// Sandboxes that a tenant may have at one time.
    pub sandboxes_per_tenant: u32,
    /// The model of the demo, when the environment names one.
    pub demo_model: Option<DemoModel>,
}

/// Who may have sandboxes that share this machine's kernel with the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalTenants {
    /// Everybody: the server is not in production.
    All,
    /// In production, those that are named and nobody else.
    Named(Vec<TenantId>),
}

impl LocalTenants {
    /// Why a tenant may not; None when it may.
    pub fn refusal(&self, tenant: TenantId) -> Option<String> {
        match self {
            Self::Named(named) if !named.contains(&tenant) => Some(format!(
                "this server is in production, where sandboxes of the local tier are only for the tenants that \
                 sandbox.local_tenants names; use a remote sandbox connection, or name {tenant} there"
            )),
            Self::All | Self::Named(_) => None,
        }
    }
}

/// A real model for the demo.
#[derive(Debug, Clone)]
pub struct DemoModel {
    /// `OPENAI_BASE_URL`.
    pub base_url: String,
    /// `OPENAI_API_KEY`.
    pub api_key: Option<SecretString>,
    /// `VITRINE_MODEL`.
    pub deployment: String,
}

/// Everything that is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
#[error("the configuration is not valid:\n{}", .0.iter().map(|fault| format!("  - {fault}")).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// What the command line says; it goes before the environment and the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<SocketAddr>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Raw {
    server: RawServer,
    store: RawStore,
    worker: RawWorker,
    sandbox: RawSandbox,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawServer {
    listen: Option<String>,
    production: Option<bool>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawStore {
    data_dir: Option<PathBuf>,
    url_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawWorker {
    concurrency: Option<usize>,
    lease_seconds: Option<u64>,
    account_wait_seconds: Option<u64>,
    retention_days: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawSandbox {
    local: Option<bool>,
    local_tenants: Vec<String>,
    per_tenant: Option<u32>,
}

/// More than any agent platform of one team needs, and less than takes a server down.
const DEFAULT_SANDBOXES_PER_TENANT: u32 = 200;

const KNOWN_VARIABLES: &[&str] = &[
    "VITRINE_CONFIG",
    "VITRINE_LISTEN",
    "VITRINE_DATA_DIR",
    "VITRINE_DATABASE_URL",
    "VITRINE_CONCURRENCY",
    "VITRINE_LEASE_SECONDS",
    "VITRINE_ACCOUNT_WAIT_SECONDS",
    "VITRINE_RETENTION_DAYS",
    "VITRINE_LOCAL_SANDBOX",
    "VITRINE_PRODUCTION",
    "VITRINE_SANDBOXES_PER_TENANT",
    "VITRINE_MODEL",
    "VITRINE_API_KEY",
    "VITRINE_URL",
    "VITRINE_LOG",
];

impl Config {
    /// Reads the file, the environment and the command line, in rising order of weight.
    pub fn load(overrides: Overrides, environment: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let mut faults = unknown_variables(environment);
        let named = overrides.file.clone().or_else(|| environment.get("VITRINE_CONFIG").map(PathBuf::from));
        let raw = read_file(named.as_deref()).unwrap_or_else(|fault| {
            faults.push(fault);
            Raw::default()
        });
        faults.extend(raw.server.hosts.iter().filter_map(|host| bad_host(host)));
        faults.extend(raw.server.origins.iter().filter_map(|origin| bad_origin(origin)));
        faults.extend(environment.get("VITRINE_LOG").and_then(|filter| bad_log_filter(filter)));
        let config = Self {
            listen: listen(&overrides, environment, &raw, &mut faults),
            data_dir: overrides
                .data_dir
                .or_else(|| environment.get("VITRINE_DATA_DIR").map(PathBuf::from))
                .or(raw.store.data_dir)
                .unwrap_or_else(|| PathBuf::from(".vitrine")),
            hosts: raw.server.hosts,
            origins: raw.server.origins,
            database_url: database_url(environment, raw.store.url_file.as_deref(), &mut faults),
            concurrency: number(environment, "VITRINE_CONCURRENCY", raw.worker.concurrency, 8, 1, 1024, &mut faults),
            lease: Duration::from_secs(number(
                environment,
                "VITRINE_LEASE_SECONDS",
                raw.worker.lease_seconds,
                10,
                3,
                300,
                &mut faults,
            )),
            account_wait: Duration::from_secs(number(
                environment,
                "VITRINE_ACCOUNT_WAIT_SECONDS",
                raw.worker.account_wait_seconds,
                30,
                0,
                3600,
                &mut faults,
            )),
            retention: retention(environment, raw.worker.retention_days, &mut faults),
            local_sandbox: flag(environment, "VITRINE_LOCAL_SANDBOX", raw.sandbox.local, true, &mut faults),
            local_tenants: local_tenants(environment, raw.server.production, &raw.sandbox.local_tenants, &mut faults),
            sandboxes_per_tenant: number(
                environment,
                "VITRINE_SANDBOXES_PER_TENANT",
                raw.sandbox.per_tenant,
                DEFAULT_SANDBOXES_PER_TENANT,
                1,
                100_000,
                &mut faults,
            ),
            demo_model: demo_model(environment, &mut faults),
        };
        if faults.is_empty() { Ok(config) } else { Err(ConfigError(faults)) }
    }
}

fn read_file(named: Option<&Path>) -> Result<Raw, String> {
    let path = match named {
        Some(path) => path.to_owned(),
        None if Path::new("vitrine.toml").exists() => PathBuf::from("vitrine.toml"),
        None => return Ok(Raw::default()),
    };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {}", path.display(), error.message()))
}

/// What a browser sends as Host: a name or an address, and the port unless it is the scheme's own.
fn bad_host(host: &str) -> Option<String> {
    let authority = host.parse::<http::uri::Authority>().ok();
    let is_plain = authority.is_some_and(|authority| {
        let port = &host[authority.host().len()..];
        let has_good_port = port.is_empty() || authority.port_u16().is_some_and(|port| port > 0);
        !authority.host().is_empty() && !host.contains(['@', '*']) && has_good_port
    });
    (!is_plain).then(|| {
        format!(
            "server.hosts must hold names like studio.example or studio.example:8443, without scheme, and not {host}"
        )
    })
}

fn bad_origin(origin: &str) -> Option<String> {
    let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let is_origin = rest.is_some_and(|rest| bad_host(rest.trim_end_matches('/')).is_none());
    (!is_origin).then(|| format!("server.origins must hold origins like https://app.example, and not {origin}"))
}

fn bad_log_filter(filter: &str) -> Option<String> {
    let error = tracing_subscriber::EnvFilter::try_new(filter).err()?;
    Some(format!("VITRINE_LOG must be a filter like warn,api=debug: {error}"))
}

fn unknown_variables(environment: &BTreeMap<String, String>) -> Vec<String> {
    environment
        .keys()
        .filter(|name| name.starts_with("VITRINE_") && !name.starts_with("VITRINE_TEST_"))
        .filter(|name| !KNOWN_VARIABLES.contains(&name.as_str()))
        .map(|name| format!("{name} is no variable of Vitrine; there are {}", KNOWN_VARIABLES.join(", ")))
        .collect()
}

fn listen(
    overrides: &Overrides,
    environment: &BTreeMap<String, String>,
    raw: &Raw,
    faults: &mut Vec<String>,
) -> SocketAddr {
    let default = SocketAddr::from(([127, 0, 0, 1], 8080));
    let text = environment.get("VITRINE_LISTEN").or(raw.server.listen.as_ref());
    match (overrides.listen, text) {
        (Some(listen), _) => listen,
        (None, None) => default,
        (None, Some(text)) => text.parse().unwrap_or_else(|_| {
            faults.push(format!("listen must be an address and a port like 127.0.0.1:8080, not {text}"));
            default
        }),
    }
}

fn database_url(
    environment: &BTreeMap<String, String>,
    file: Option<&Path>,
    faults: &mut Vec<String>,
) -> Option<SecretString> {
    let url = match (environment.get("VITRINE_DATABASE_URL"), file) {
        (Some(url), _) => url.clone(),
        (None, None) => return None,
        (None, Some(file)) => match std::fs::read_to_string(file) {
            Ok(text) => text.trim().to_owned(),
            Err(error) => {
                faults.push(format!("store.url_file {}: {error}", file.display()));
                return None;
            }
        },
    };
    if !url.starts_with("mysql://") && !url.starts_with("sqlite://") {
        faults.push("the database URL must begin with mysql:// or sqlite://".to_owned());
    }
    Some(url.into())
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy>(
    environment: &BTreeMap<String, String>,
    variable: &str,
    raw: Option<T>,
    default: T,
    least: T,
    most: T,
    faults: &mut Vec<String>,
) -> T {
    let value = match environment.get(variable) {
        Some(text) => text.parse().ok(),
        None => Some(raw.unwrap_or(default)),
    };
    match value {
        Some(value) if value >= least && value <= most => value,
        Some(_) | None => {
            faults.push(format!("{variable} (or its key in the file) must be a number from {least} to {most}"));
            default
        }
    }
}

fn retention(environment: &BTreeMap<String, String>, raw: Option<u64>, faults: &mut Vec<String>) -> Option<Duration> {
    let days = number(environment, "VITRINE_RETENTION_DAYS", raw, 30, 0, 36_500, faults);
    (days > 0).then(|| Duration::from_hours(24 * days))
}

fn local_tenants(
    environment: &BTreeMap<String, String>,
    production: Option<bool>,
    named: &[String],
    faults: &mut Vec<String>,
) -> LocalTenants {
    let mut parse = |text: &String| {
        let tenant = text.parse();
        if tenant.is_err() {
            faults.push(format!("sandbox.local_tenants must hold ids of tenants, like ten_0123, and not {text}"));
        }
        tenant.ok()
    };
    let named = named.iter().filter_map(&mut parse).collect();
    let is_production = flag(environment, "VITRINE_PRODUCTION", production, false, faults);
    if is_production { LocalTenants::Named(named) } else { LocalTenants::All }
}

fn flag(
    environment: &BTreeMap<String, String>,
    variable: &str,
    raw: Option<bool>,
    default: bool,
    faults: &mut Vec<String>,
) -> bool {
    match environment.get(variable).map(String::as_str) {
        None => raw.unwrap_or(default),
        Some("true" | "1") => true,
        Some("false" | "0") => false,
        Some(_) => {
            faults.push(format!("{variable} must be true or false"));
            default
        }
    }
}

fn demo_model(environment: &BTreeMap<String, String>, faults: &mut Vec<String>) -> Option<DemoModel> {
    let given = |name: &str| environment.get(name).filter(|text| !text.is_empty()).cloned();
    match (given("OPENAI_BASE_URL"), given("VITRINE_MODEL")) {
        (Some(base_url), Some(deployment)) => {
            Some(DemoModel { base_url, deployment, api_key: given("OPENAI_API_KEY").map(Into::into) })
        }
        (_, None) => None,
        (None, Some(_)) => {
            faults.push("VITRINE_MODEL needs OPENAI_BASE_URL, for example https://api.openai.com/v1".to_owned());
            None
        }
    }
}

/// The environment of this process, read once.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vitrine.toml");
        std::fs::write(&path, file).unwrap();
        let overrides = Overrides { file: Some(path), ..Overrides::default() };
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::load(overrides, &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_goes_before_the_file() {
        let config = load("[server]\nlisten = '127.0.0.1:1'\n", &[("VITRINE_LISTEN", "127.0.0.1:2")]).unwrap();
        assert_eq!(config.listen.port(), 2);
        assert_eq!(load("[worker]\nconcurrency = 3\n", &[]).unwrap().concurrency, 3);
    }

    #[test]
    fn unknown_keys_are_errors_and_all_faults_are_named() {
        assert!(load("[server]\nlisten_on = 'x'\n", &[]).unwrap_err().contains("listen_on"));
        let fault = load("", &[("VITRINE_LISTEN", "nowhere"), ("VITRINE_CONCURENCY", "3")]).unwrap_err();
        assert!(fault.contains("nowhere") && fault.contains("VITRINE_CONCURENCY"), "{fault}");
    }

    #[test]
    fn a_fault_of_the_file_does_not_hide_those_of_the_environment() {
        let fault = load("[server]\nlisten_on = 'x'\n", &[("VITRINE_LOG", "api=loud=er")]).unwrap_err();
        assert!(fault.contains("listen_on") && fault.contains("VITRINE_LOG"), "{fault}");
    }

    #[test]
    fn names_and_origins_are_what_a_browser_sends() {
        let good = "[server]\nhosts = ['studio.example', 'studio.example:8443', '[::1]:80']\n\
                    origins = ['https://app.example', 'http://localhost:3000/']\n";
        load(good, &[]).unwrap();
        for (list, wrong) in [
            ("hosts", "https://studio.example"),
            ("hosts", "studio.example/path"),
            ("hosts", "user@studio.example"),
            ("hosts", ""),
            ("hosts", "*:80"),
            ("hosts", "studio.example:99999"),
            ("hosts", "studio.example:0"),
            ("origins", "app.example"),
            ("origins", "*"),
            ("origins", "https://app.example/path"),
        ] {
            let fault = load(&format!("[server]\n{list} = ['{wrong}']\n"), &[]).unwrap_err();
            assert!(fault.contains(&format!("server.{list} must")) && fault.contains(wrong), "{fault}");
        }
    }

    #[test]
    fn executions_are_kept_for_thirty_days_or_as_long_as_is_said() {
        let days = |file: &str| load(file, &[]).unwrap().retention.map(|keep| keep.as_secs() / 86_400);
        assert_eq!(days(""), Some(30));
        assert_eq!(days("[worker]\nretention_days = 7\n"), Some(7));
        assert_eq!(days("[worker]\nretention_days = 0\n"), None);
        assert!(load("", &[("VITRINE_RETENTION_DAYS", "-1")]).unwrap_err().contains("VITRINE_RETENTION_DAYS"));
    }

    #[test]
    fn in_production_the_local_tier_is_for_named_tenants() {
        let [named, other] = [7, 8].map(TenantId::from_bits);
        let refusal = |file: &str, variables: &[(&str, &str)]| {
            let tenants = load(file, variables).unwrap().local_tenants;
            [named, other].map(|tenant| tenants.refusal(tenant))
        };
        let names = format!("[sandbox]\nlocal_tenants = ['{named}']\n");
        assert_eq!(refusal(&names, &[]), [None, None]);
        let [first, second] = refusal(&format!("[server]\nproduction = true\n{names}"), &[]);
        assert_eq!(first, None);
        assert!(second.unwrap().contains(&other.to_string()));
        assert!(refusal("", &[("VITRINE_PRODUCTION", "true")])[0].is_some());
        let fault = load("[sandbox]\nlocal_tenants = ['Local']\n", &[]).unwrap_err();
        assert!(fault.contains("sandbox.local_tenants") && fault.contains("Local"), "{fault}");
    }

    #[test]
    fn a_named_file_that_is_missing_stops_the_start() {
        let overrides = Overrides { file: Some("/nonexistent/vitrine.toml".into()), ..Overrides::default() };
        assert!(Config::load(overrides, &BTreeMap::new()).is_err());
    }

    /// The variables that the documents name, and those that a shell with a client in it has set.
    #[test]
    fn every_documented_variable_is_known() {
        let example = include_str!("../../vitrine.example.toml");
        let words = example.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
        let named: Vec<_> = words.filter(|word| word.starts_with("VITRINE_")).collect();
        assert!(named.contains(&"VITRINE_ACCOUNT_WAIT_SECONDS"), "{named:?}");
        for name in named.into_iter().chain(["VITRINE_URL", "VITRINE_API_KEY"]) {
            assert!(KNOWN_VARIABLES.contains(&name), "{name}");
        }
        let config = load("", &[("VITRINE_ACCOUNT_WAIT_SECONDS", "0"), ("VITRINE_URL", "http://127.0.0.1:8080")]);
        assert_eq!(config.unwrap().account_wait, Duration::ZERO);
    }

    #[test]
    fn the_database_url_is_never_printed() {
        let config = load("", &[("VITRINE_DATABASE_URL", "mysql://u:hunter2@127.0.0.1/db")]).unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
