use super::{AuditAction, AuditRecord, BrokenChain, ChainedRecord, FIRST_PREVIOUS_HASH, verify_chain};
use crate::clock::Timestamp;
use crate::ids::PrincipalId;

fn chain() -> Vec<ChainedRecord> {
    let mut records: Vec<ChainedRecord> = Vec::new();
    for sequence in 1..=4 {
        let record = AuditRecord {
            at: Timestamp::from_micros(i64::try_from(sequence).unwrap()),
            by: PrincipalId::from_bits(7),
            action: AuditAction::ExecutionOverrideLoop,
            target: "exe_0".to_owned(),
            reason: format!("reason {sequence}"),
            detail: serde_json::Map::new(),
        };
        let previous_hash = records.last().map_or_else(|| FIRST_PREVIOUS_HASH.to_owned(), ChainedRecord::hash);
        records.push(ChainedRecord { sequence, previous_hash, record });
    }
    records
}

#[test]
fn a_chain_holds_as_it_was_written() {
    assert_eq!(verify_chain(&chain()), Ok(()));
    assert_eq!(verify_chain(&[]), Ok(()));
}

#[test]
fn a_changed_record_breaks_the_chain_behind_it() {
    let mut records = chain();
    records[1].record.reason.push('!');
    assert_eq!(verify_chain(&records), Err(BrokenChain { sequence: 3 }));
}

#[test]
fn a_record_that_is_missing_breaks_the_chain() {
    for gone in 0..3 {
        let mut records = chain();
        records.remove(gone);
        assert_eq!(verify_chain(&records), Err(BrokenChain { sequence: gone as u64 + 1 }));
    }
}

#[test]
fn records_in_another_order_break_the_chain() {
    let mut records = chain();
    records.swap(1, 2);
    assert_eq!(verify_chain(&records), Err(BrokenChain { sequence: 2 }));
}
