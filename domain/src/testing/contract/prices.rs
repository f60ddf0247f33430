//! Price tables: whole imports, versions that never change, and which of them is in force.

use std::slice::from_ref;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::ctx::PageRequest;
use crate::ids::PriceVersionId;
use crate::money::{NanoUsd, Price};
use crate::price_table::{ModelName, ModelPrice};
use crate::resource::PriceVersion;
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

fn model(provider: &str, deployment: &str) -> ModelName {
    ModelName { provider: provider.to_owned(), deployment: deployment.to_owned() }
}

fn price(samples: &Samples, home: &Home, model: &ModelName, valid_from: Timestamp, nano: i64) -> ModelPrice {
    let price = Price {
        input_per_million: NanoUsd(nano),
        cached_input_per_million: NanoUsd(1),
        output_per_million: NanoUsd(i64::MAX),
        reasoning_per_million: (nano % 2 == 0).then_some(NanoUsd(nano)),
    };
    ModelPrice {
        tenant_id: home.tenant.id,
        project_id: home.project.id,
        model: model.clone(),
        version: PriceVersion { id: samples.price_version_id(), valid_from, price },
        imported_at: AT,
        imported_by: home.owner,
    }
}

fn later(seconds: u64) -> Timestamp {
    AT.plus(Duration::from_secs(seconds))
}

async fn all(ports: &Ports, home: &Home) -> Vec<ModelPrice> {
    let request = PageRequest { first: 100, after: None };
    let page = ports.prices.list_prices(home.scope(), home.project.id, request).await.unwrap();
    page.rows.into_iter().map(|(_, price)| price).collect()
}

/// One line that is in the way keeps all others out; without it all are stored as they came.
pub async fn an_import_is_whole_or_nothing(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let name = model("openai", "gpt-9 \u{1F600}");
    let first = price(&samples, &home, &name, AT, 2);
    assert_eq!(ports.prices.import_prices(from_ref(&first)).await.unwrap(), Ok(vec![first.clone()]));

    let new = price(&samples, &home, &name, later(1), 4);
    let other = price(&samples, &home, &name, AT, 6);
    let refused = ports.prices.import_prices(&[new.clone(), other]).await.unwrap();
    assert_eq!(refused, Err(vec![1]));
    assert_eq!(all(ports, &home).await, from_ref(&first));

    assert_eq!(ports.prices.import_prices(from_ref(&new)).await.unwrap(), Ok(vec![new.clone()]));
    assert_eq!(all(ports, &home).await, [new, first]);
}

/// Who added which versions stands in the audit log; what added nothing stands nowhere.
pub async fn an_import_is_audited_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let name = model("openai", "gpt-9");
    let [first, second] = [AT, later(1)].map(|from| price(&samples, &home, &name, from, 2));
    for import in [vec![first.clone()], vec![first.clone(), second.clone()], vec![second.clone()]] {
        ports.prices.import_prices(&import).await.unwrap().unwrap();
    }
    let changed = price(&samples, &home, &name, AT, 9);
    ports.prices.import_prices(&[changed]).await.unwrap().unwrap_err();
    let about = ports.audit.records_about(home.scope(), &home.project.id.to_string()).await.unwrap();
    let said: Vec<_> =
        about.iter().map(|link| (link.record.by, link.record.detail["priceVersionIds"].clone())).collect();
    let ids = |price: &ModelPrice| serde_json::json!([price.id().to_string()]);
    assert_eq!(said, [(home.owner, ids(&first)), (home.owner, ids(&second))]);
}

/// A line that says the same again is the version that there is.
pub async fn what_was_imported_never_changes(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let name = model("openai", "gpt-9");
    let first = price(&samples, &home, &name, AT, 3);
    ports.prices.import_prices(from_ref(&first)).await.unwrap().unwrap();
    let again = price(&samples, &home, &name, AT, 3);
    assert_ne!(again.id(), first.id());
    assert_eq!(ports.prices.import_prices(&[again]).await.unwrap(), Ok(vec![first.clone()]));
    assert_eq!(ports.prices.prices(home.scope(), &[first.id()]).await.unwrap(), [first]);
    assert_eq!(ports.prices.prices(home.scope(), &[]).await.unwrap(), []);
}

/// Of those that hold by then, the one from the latest moment; names are compared exactly.
pub async fn the_newest_price_that_holds_is_in_force(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let name = model("openai", "gpt-9");
    let versions = [later(10), AT, later(20)].map(|from| price(&samples, &home, &name, from, 2));
    let neighbours = [model("openai", "gpt-9 "), model("OpenAI", "gpt-9"), model("openaigpt-9", "gpt")];
    let others: Vec<_> = neighbours.iter().map(|name| price(&samples, &home, name, later(15), 8)).collect();
    ports.prices.import_prices(&[&versions[..], &others].concat()).await.unwrap().unwrap();
    let at = async |moment: Timestamp| {
        let found = ports.prices.price_in_force(home.scope(), home.project.id, &name, moment).await.unwrap();
        found.map(|price| price.id())
    };
    let ids: [PriceVersionId; 3] = versions.map(|version| version.id());
    assert_eq!(at(Timestamp::from_micros(AT.as_micros() - 1)).await, None);
    assert_eq!(at(AT).await, Some(ids[1]));
    assert_eq!(at(Timestamp::from_micros(later(10).as_micros() - 1)).await, Some(ids[1]));
    assert_eq!(at(later(10)).await, Some(ids[0]));
    assert_eq!(at(later(1000)).await, Some(ids[2]));
    let elsewhere = ports.prices.price_in_force(home.scope(), samples.project_id(), &name, later(99)).await;
    assert_eq!(elsewhere.unwrap(), None);
}

/// By provider and name, the newest first; each version once, whatever the page size.
pub async fn a_price_table_is_paged(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let names = [model("a", "x"), model("a", "x "), model("a", "x."), model("a.", "b"), model("b", "a")];
    let mut wanted = Vec::new();
    for name in &names {
        wanted.extend([later(2), later(1), AT].map(|from| price(&samples, &home, name, from, 2)));
    }
    ports.prices.import_prices(&wanted).await.unwrap().unwrap();
    for first in [1, 2, 7, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let request = PageRequest { first, after };
            let page = ports.prices.list_prices(home.scope(), home.project.id, request).await.unwrap();
            after = page.rows.last().map(|(key, _)| key.clone());
            seen.extend(page.rows.into_iter().map(|(_, price)| price));
            if !page.has_next {
                break;
            }
        }
        assert_eq!(seen, wanted, "pages of {first}");
    }
    let nonsense = PageRequest { first: 10, after: Some("\u{1F980}".to_owned()) };
    assert_eq!(ports.prices.list_prices(home.scope(), home.project.id, nonsense).await.unwrap().rows, []);
}

/// Nobody finds another tenant's prices, whatever the id.
pub async fn a_foreign_tenant_sees_no_prices(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, stranger) = (samples.home(ports).await, samples.home(ports).await);
    let name = model("openai", "gpt-9");
    let own = price(&samples, &home, &name, AT, 2);
    ports.prices.import_prices(from_ref(&own)).await.unwrap().unwrap();
    assert_eq!(ports.prices.prices(stranger.scope(), &[own.id()]).await.unwrap(), []);
    let found = ports.prices.price_in_force(stranger.scope(), home.project.id, &name, later(1)).await;
    assert_eq!(found.unwrap(), None);
    let request = PageRequest { first: 10, after: None };
    assert_eq!(ports.prices.list_prices(stranger.scope(), home.project.id, request).await.unwrap().rows, []);
}
