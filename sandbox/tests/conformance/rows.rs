//! The rows, in the order of the checklist.

use crate::harness::{Check, Row};
use crate::target::Capability;
use crate::{commands, endpoints, faults, files, lifecycle, network, requests, sessions};

/// A row that runs on any target, or, after `if`, on one with that capability.
macro_rules! row {
    ($module:ident :: $name:ident) => { row!(@ $module, $name, None) };
    ($module:ident :: $name:ident if $needs:ident) => { row!(@ $module, $name, Some(Capability::$needs)) };
    (@ $module:ident, $name:ident, $needs:expr) => {
        Row {
            name: stringify!($name),
            check: Check::Run { needs: $needs, run: |target| Box::pin(async move { $module::$name(&target).await }) },
        }
    };
}

const fn elsewhere(name: &'static str, place: &'static str) -> Row {
    Row { name, check: Check::Elsewhere(place) }
}

const HOSTILE: &str = "only a server that misbehaves shows it: sandbox/tests/opensandbox";

pub fn rows() -> Vec<Row> {
    // First what takes longest.
    let mut rows = vec![
        row!(faults::a_sandbox_that_nobody_renews_ends if Minutes),
        row!(faults::a_large_file_makes_the_round_trip),
    ];
    rows.extend(lifecycle_rows());
    rows.extend(execd_rows());
    rows.extend(other_rows());
    rows
}

fn lifecycle_rows() -> Vec<Row> {
    vec![
        row!(lifecycle::row_01_asks_for_the_key),
        row!(lifecycle::row_02_health_and_version_need_no_key),
        row!(lifecycle::row_03_answers_have_request_ids),
        row!(requests::row_04_a_create_answers_with_the_sandbox),
        row!(requests::row_05_a_time_to_live_is_a_minute_or_none),
        row!(requests::row_06_incomplete_requests_are_refused),
        row!(requests::row_07_metadata_are_labels),
        row!(requests::row_08_unknown_members_are_ignored),
        row!(lifecycle::row_09_lists_pages_newest_first),
        row!(lifecycle::row_10_filters_by_metadata),
        row!(lifecycle::row_11_filters_by_state),
        row!(lifecycle::row_12_an_unknown_sandbox_is_not_found),
        row!(lifecycle::row_13_a_killed_sandbox_is_gone),
        row!(lifecycle::row_14_pauses_and_resumes if Pause),
        row!(lifecycle::row_15_renews),
        row!(lifecycle::row_16_patches_metadata),
        row!(endpoints::row_17_refuses_ports_that_are_none),
        row!(endpoints::row_18_names_endpoints),
        row!(endpoints::row_19_its_proxy_serves_execd),
        row!(lifecycle::row_20_takes_or_refuses_metrics_events),
        row!(lifecycle::row_21_makes_or_refuses_snapshots),
        row!(lifecycle::row_22_refuses_pools),
        elsewhere("row_23_reads_every_shape_of_error", HOSTILE),
        elsewhere("row_24_lets_unknown_states_and_members_through", HOSTILE),
        row!(endpoints::row_25_a_sandbox_that_does_not_get_ready_is_removed),
        row!(endpoints::row_26_a_refused_key_ends_the_wait),
        row!(endpoints::row_27_commands_run_after_a_resume if Pause),
        row!(endpoints::row_28_the_key_stays_with_its_server),
        elsewhere("row_29_checks_endpoints_and_redirects", HOSTILE),
    ]
}

fn execd_rows() -> Vec<Row> {
    vec![
        row!(endpoints::row_30_answers_a_ping),
        row!(endpoints::row_30_asks_for_the_token if ExecdToken),
        row!(commands::row_31_streams_bare_json),
        elsewhere("row_32_reads_every_framing", HOSTILE),
        row!(commands::row_33_events_have_type_and_time),
        row!(commands::row_34_the_first_event_has_the_id),
        row!(commands::row_35_pings_while_nothing_happens),
        row!(commands::row_36_ends_with_the_exit_code),
        row!(commands::row_37_the_client_knows_how_it_ended),
        elsewhere("row_38_a_cut_stream_is_no_success", HOSTILE),
        elsewhere("row_39_stops_at_the_terminal_event", HOSTILE),
        elsewhere("row_40_an_object_without_a_type_is_a_failure", HOSTILE),
        row!(commands::row_41_keeps_or_strips_terminators_throughout),
        row!(commands::row_42_output_is_exact),
        row!(commands::row_42_output_is_exact_on_the_older_wire if OlderWire),
        row!(commands::row_43_each_stream_is_in_order),
        row!(commands::row_44_a_background_command_runs_on),
        row!(commands::row_45_a_timeout_kills_the_group),
        row!(commands::row_46_bad_requests_are_refused),
        row!(commands::row_47_takes_a_command_or_arguments),
        row!(commands::row_48_interrupts),
        row!(commands::row_49_knows_the_status),
        row!(commands::row_50_logs_are_read_by_cursor),
        row!(commands::row_51_a_cancelled_command_is_gone),
        row!(files::row_52_uploads_pairs_of_parts),
        row!(files::row_53_modes_are_read_as_they_were_written),
        row!(files::row_54_information_is_keyed_by_the_request),
        row!(files::row_55_downloads_ranges),
        row!(files::row_56_replaces_and_counts),
        row!(files::row_57_deletes),
        row!(files::row_58_a_move_overwrites_nothing),
        row!(files::row_59_measures),
        row!(sessions::row_60_keep_directory_and_variables if Sessions),
    ]
}

fn other_rows() -> Vec<Row> {
    vec![
        row!(network::row_61_shows_and_changes_its_policy if Egress),
        row!(network::row_61_the_client_reads_and_changes_it if Egress),
        row!(network::row_61_asks_for_its_token if Egress),
        elsewhere("row_62_a_closed_network_is_always_asked_for", HOSTILE),
        elsewhere("row_63_terminals", "no server of the tests offers terminals, and the client uses none"),
        row!(endpoints::row_64_listens_on_loopback if HostCheck),
        row!(endpoints::row_64_refuses_foreign_hosts_and_origins if HostCheck),
        row!(endpoints::row_64_each_sandbox_has_its_own_token if ExecdToken),
        row!(endpoints::row_64_the_proxy_asks_for_the_key if ProxyKey),
        elsewhere("row_65_serves_the_official_command", "it needs Python: e2e/tests/osb.rs"),
        row!(faults::memory_over_the_limit_ends_the_command if MemoryLimit),
        row!(faults::processes_over_the_limit_are_refused if PidsLimit),
        row!(faults::a_sandbox_ends_at_its_time),
        row!(faults::a_stream_is_cut_when_its_sandbox_ends),
    ]
}

/// These need the server to themselves.
pub fn rows_that_stop_the_server() -> Vec<Row> {
    vec![
        row!(faults::a_create_whose_answer_is_lost_is_found_by_its_label if Control),
        row!(faults::server_down_before_create if Control),
        row!(faults::server_frozen_during_create if Control),
        row!(faults::server_killed_during_create if Control),
        row!(faults::server_killed_after_create if Control),
    ]
}
