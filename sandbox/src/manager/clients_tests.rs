use std::sync::atomic::{AtomicU16, Ordering};

use domain::testing::plain_target;

use super::*;

/// A local runtime that is at another address each time.
#[derive(Default)]
struct Restarted(AtomicU16);

#[async_trait]
impl LocalTier for Restarted {
    async fn connection(&self) -> Result<(Url, SecretString), String> {
        let port = 1 + self.0.fetch_add(1, Ordering::SeqCst);
        Ok((format!("http://127.0.0.1:{port}").parse().unwrap(), "key".to_owned().into()))
    }

    fn refusal(&self, _: TenantId) -> Option<String> {
        None
    }
}

fn manager() -> SandboxManager {
    SandboxManager::new(Arc::new(Restarted::default()))
}

fn known(manager: &SandboxManager) -> Vec<String> {
    lock(&manager.clients).iter().map(|(target, _)| target.base_url.clone()).collect()
}

fn remote(name: usize) -> SandboxTarget {
    plain_target(SandboxTier::Remote, &format!("https://s{name}.example"))
}

#[tokio::test]
async fn a_runtime_that_was_started_anew_takes_the_place_of_the_one_before() {
    let manager = manager();
    manager.client(&remote(1)).await.unwrap();
    for _ in 0..3 {
        manager.client(&plain_target(SandboxTier::Local, "local:")).await.unwrap();
    }
    assert_eq!(known(&manager), ["https://s1.example", "http://127.0.0.1:3/"]);
}

#[tokio::test]
async fn the_clients_that_were_used_last_are_kept() {
    let manager = manager();
    for name in 0..MAX_CLIENTS {
        manager.client(&remote(name)).await.unwrap();
    }
    manager.client(&remote(0)).await.unwrap();
    let rotated = SandboxTarget { api_key: Some("new".to_owned()), ..remote(1) };
    manager.client(&rotated).await.unwrap();
    let known = known(&manager);
    assert_eq!(known.len(), MAX_CLIENTS);
    assert_eq!(known[0], "https://s2.example");
    assert_eq!(known[MAX_CLIENTS - 2..], ["https://s0.example", "https://s1.example"]);
}

#[test]
fn what_endpoints_may_have_reaches_the_client() {
    let target = SandboxTarget {
        endpoint_hosts: vec!["*.gw.example".to_owned()],
        endpoint_ports: vec!["443".to_owned(), "40000-60000".to_owned()],
        endpoint_paths: vec!["/v1".to_owned()],
        ..remote(1)
    };
    let made = connection(&target).unwrap();
    assert_eq!(made.endpoint_ports, [443..=443, 40_000..=60_000]);
    assert_eq!(
        (made.endpoint_hosts, made.endpoint_paths),
        (target.endpoint_hosts.clone(), target.endpoint_paths.clone())
    );
    let open = connection(&remote(1)).unwrap();
    assert!(open.endpoint_ports.is_empty() && open.endpoint_paths.is_empty());
    let unread = SandboxTarget { endpoint_ports: vec!["all".to_owned()], ..target };
    assert!(connection(&unread).unwrap_err().message.contains("endpointPorts"));
}
