//! Every contract, on both engines.

use domain::testing::contract;

use crate::world::World;

macro_rules! contracts {
    ($($suite:ident: [$($rule:ident),* $(,)?]),* $(,)?) => {
        mod sqlite {
            use super::{World, contract};
            $(mod $suite {
                use super::{World, contract};
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $rule() {
                    let world = World::sqlite().await;
                    contract::$suite::$rule(&world.ports).await;
                    world.close().await;
                })*
            })*
        }
        mod mariadb {
            use super::{World, contract};
            $(mod $suite {
                use super::{World, contract};
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $rule() {
                    let world = World::mariadb().await;
                    contract::$suite::$rule(&world.ports).await;
                    world.close().await;
                })*
            })*
        }
    };
}

contracts! {
    starts: [
        a_start_writes_row_inputs_and_first_event,
        a_key_starts_one_execution,
        keys_are_compared_exactly,
        parallel_starts_with_one_key_start_one_execution,
        a_failed_start_leaves_nothing,
    ],
    claims: [
        each_execution_is_claimed_once,
        one_execution_goes_to_one_claimer,
        the_oldest_is_claimed_first,
        a_stale_worker_writes_nothing,
        a_renewed_lease_is_not_claimed,
        commands_reach_the_holder,
        a_released_lease_is_free,
        a_waiting_execution_is_claimed_for_a_command,
        an_ended_execution_stays_as_it_is,
    ],
    commits: [
        every_change_reads_back_equal,
        a_transcript_is_in_order,
        a_fence_matches_exactly,
        a_commit_that_fails_leaves_nothing,
        a_row_stays_with_its_execution,
        an_append_judges_each_commit_alone,
        a_cursor_moves_with_its_output,
        stray_sandboxes_are_found_until_they_are_gone,
    ],
    sandboxes: [
        a_tenant_has_as_many_sandboxes_as_it_may,
        an_overdue_sandbox_takes_no_place,
        sandboxes_that_open_at_one_time_are_counted,
        issued_credentials_end_with_their_sandbox,
    ],
    event_log: [
        a_reader_misses_nothing_and_repeats_nothing,
        a_read_is_bounded,
        long_segments_come_back_equal,
        a_foreign_tenant_sees_no_log,
    ],
    reader: [lists_page_by_time_and_id, lists_are_filtered, a_foreign_tenant_sees_nothing],
    prices: [
        an_import_is_whole_or_nothing,
        an_import_is_audited_once,
        what_was_imported_never_changes,
        the_newest_price_that_holds_is_in_force,
        a_price_table_is_paged,
        a_foreign_tenant_sees_no_prices,
    ],
    costs: [sums_are_exact_and_paged, names_that_differ_in_a_space_are_two, a_foreign_tenant_has_no_costs],
    resources: [
        a_resource_reads_back_equal,
        a_slug_is_taken_once,
        versions_are_numbered_without_holes,
        publishing_happens_once,
        archiving_keeps_the_first_time,
        a_foreign_tenant_sees_no_resources,
    ],
    accounts: [
        a_hold_takes_what_fits_and_nothing_else,
        a_call_is_settled_once,
        a_hold_covers_every_account_that_applies,
        accounts_are_held_together_or_not_at_all,
        a_stale_hold_is_a_lost_lease,
        a_period_begins_anew_and_keeps_its_holds,
        an_account_is_altered_in_place,
        a_top_up_happens_once,
        warnings_are_remembered,
        a_foreign_tenant_sees_no_accounts,
    ],
    access: [
        facts_are_exact,
        roles_hold_in_their_project,
        strangers_have_no_facts,
        an_agent_has_one_service_identity,
    ],
    audit: [an_audited_command_leaves_its_record, records_form_a_chain_in_each_tenant],
    identity: [
        a_tenant_is_made_once,
        a_foreign_tenant_sees_nobody,
        a_key_is_found_and_revoked,
        a_code_signs_in_once,
    ],
}
