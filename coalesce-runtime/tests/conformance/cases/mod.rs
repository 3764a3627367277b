//! The cases, and the list that hands each of them to each coordinator.

pub(crate) mod election;
pub(crate) mod failure;
pub(crate) mod finish;
pub(crate) mod last_words;
pub(crate) mod listening;
pub(crate) mod places;
pub(crate) mod renewal;
pub(crate) mod replacing;
pub(crate) mod time;

/// Makes one test of every case for a [`Subject`](crate::world::Subject). A case that is not listed is
/// dead code, and the compiler says so.
macro_rules! run_all_on {
    ($subject:ty) => {
        crate::cases::stamp! { $subject;
            election {
                c001_begin_on_nothing_leads
                c002_the_same_token_asked_again_gets_the_same_answer
                c003_asking_again_does_not_prolong_the_lease
                c004_a_second_token_follows_the_first
                c005_the_lease_told_to_a_follower_shrinks
                c006_followers_do_not_touch_the_lease
                c007_the_end_of_the_lease_lets_the_next_asker_lead
                c008_the_superseded_leader_follows_its_successor
                c009_exactly_one_of_the_waiters_takes_over
                c010_a_hundred_concurrent_askers_elect_exactly_one
                c011_another_state_than_the_one_seen_is_the_answer
                c012_another_state_is_the_answer_even_while_a_flight_runs
                c013_the_state_that_was_seen_does_not_stop_an_election
                c014_whoever_wants_no_state_leads_and_learns_its_mark
                c015_an_expired_state_is_no_answer
                c016_an_invalidated_state_is_skipped
                c017_a_newcomer_does_not_join_a_fenced_flight
                c018_a_follower_of_a_fenced_flight_goes_on_following_it
                c019_a_follower_of_another_flight_does_not_join_a_fenced_one
                c020_a_follower_of_a_fenced_flight_takes_over_when_its_lease_ends
                c021_a_fenced_leader_that_asks_again_still_leads
                c022_the_flight_after_a_fenced_one_is_not_fenced
                c023_a_follower_of_a_superseded_flight_is_sent_to_its_successor
            }
            renewal {
                c024_a_renewal_prolongs_the_lease
                c025_a_renewal_can_shorten_the_lease
                c026_a_renewal_after_a_takeover_is_lost
                c027_a_strangers_renewal_does_nothing
                c028_a_lock_that_is_merely_gone_is_retaken
                c029_a_retaken_lock_ends_with_its_lease
                c030_a_lock_is_retaken_below_the_state_of_its_election
                c031_a_lock_is_not_retaken_when_the_state_has_changed
                c032_a_lock_is_not_retaken_after_an_invalidation
                c033_a_beat_after_the_finish_does_not_take_the_lock_again
                c034_a_fenced_owner_learns_since_when
                c035_a_renewal_keeps_the_fence_and_its_moment
                c036_a_batch_is_answered_in_its_order
                c037_an_empty_batch_has_no_answers
                c038_a_batch_of_five_hundred_is_renewed
                c132_a_lock_is_not_retaken_behind_its_time
            }
            finish {
                c039_a_finish_stores_the_outcome
                c040_a_finish_frees_the_lock
                c041_an_outcome_is_stored_before_it_is_published
                c042_a_published_outcome_is_the_stored_one
                c043_a_finish_asked_again_is_the_same_finish
                c044_a_finish_asked_again_leaves_the_next_flight_alone
                c045_a_late_finish_is_refused
                c046_a_late_finish_does_not_overwrite_newer_state
                c047_a_strangers_finish_is_refused
                c048_a_finish_after_the_lock_is_gone_may_retake_it
                c049_a_finish_after_the_lock_is_gone_is_refused_when_it_may_not_retake
                c050_a_finish_does_not_retake_when_the_state_has_changed
                c051_a_finish_does_not_retake_after_an_invalidation
                c052_an_owner_finishes_whatever_has_become_of_the_old_state
                c053_a_fenced_finish_is_published_and_not_stored
                c054_a_fenced_finish_frees_the_lock
                c055_a_fenced_finish_after_a_newcomers_election_is_refused
                c056_an_empty_payload_is_stored_as_a_value
                c057_any_bytes_come_back_as_they_were
                c058_a_too_large_marker_is_stored_and_published
                c059_the_next_flight_replaces_the_state
                c060_a_finish_without_a_flight_is_refused
                c133_a_finish_does_not_retake_behind_its_time
                c137_a_trace_context_comes_back_as_it_was_and_is_told_with_the_outcome
            }
            last_words {
                c134_an_outcome_from_before_the_state_is_not_stored_under_a_late_lock
                c135_an_outcome_from_behind_the_state_is_stored_under_a_late_lock
                c138_a_fenced_finish_said_again_tells_those_who_had_joined
                c139_an_outcome_under_a_late_lock_is_for_those_from_before_its_body
            }
            failure {
                c061_a_failed_refresh_spares_the_value
                c062_a_failed_refresh_notes_the_pause
                c063_the_pause_grows_with_each_failure
                c064_a_new_value_ends_the_pause
                c065_a_spared_value_keeps_its_life
                c066_a_failed_refresh_frees_the_lock
                c067_the_followers_of_a_failed_refresh_hear_its_error
                c068_an_error_is_stored_where_there_is_no_value
                c069_an_error_overwrites_a_value_that_is_not_to_be_spared
                c070_only_a_value_is_spared
                c071_a_value_is_replaced_by_a_value_that_would_have_spared_it
                c072_a_late_failure_notes_no_pause
                c073_an_abandoned_flight_frees_the_lock_and_is_told
                c074_a_strangers_abandon_does_nothing
                c075_an_abandon_after_the_lease_is_a_no_op
                c076_an_abandon_asked_again_is_a_no_op
                c077_an_abandoned_flight_leaves_the_state_as_it_is
                c130_a_failed_refresh_told_again_is_noted_once
                c131_a_value_seen_before_its_refresh_failed_is_not_refreshed
            }
            replacing {
                c078_an_invalidation_removes_the_value
                c079_a_replacement_says_whether_a_flight_was_fenced
                c080_an_ended_lease_is_not_fenced
                c081_an_invalidation_is_told
                c082_a_put_value_is_told_as_an_outcome
                c083_a_value_put_during_a_flight_wins
                c084_a_put_value_answers_the_next_asker
                c085_the_first_fence_counts
                c086_a_replacement_is_stamped_with_the_coordinators_time
                c087_a_replacement_ends_with_its_life
                c088_a_fence_outlives_the_state_that_set_it
                c089_a_replacement_asked_again_leaves_the_same_outcome
                c136_a_replacement_asked_again_does_not_fence_the_flight_behind_it
            }
            listening {
                c090_only_the_keys_listeners_hear_a_message
                c091_all_listeners_of_a_key_hear_it
                c092_a_listener_hears_nothing_from_before_it_came
                c093_messages_arrive_in_order
                c094_many_listeners_of_a_key_are_one_subscription
                c095_listeners_that_come_at_once_all_hear
                c096_the_listeners_that_stay_go_on_hearing
                c097_nothing_is_left_of_listeners_that_are_gone
                c098_a_channel_that_was_left_is_joined_again
                c099_nobody_is_listening_before_somebody_listens
                c100_a_listener_on_an_existing_subscription_hears
                c101_an_outcome_of_8_kib_is_inline
                c102_a_bigger_outcome_is_in_the_state
                c103_a_big_fenced_outcome_is_inline
                c104_a_big_put_value_is_in_the_state
            }
            places {
                c105_a_read_hands_out_whatever_is_there
                c106_an_unreadable_state_does_not_stop_an_election
                c107_an_unreadable_state_has_a_mark
                c108_an_unreadable_state_is_overwritten
                c109_a_lock_is_retaken_below_an_unreadable_state
                c110_a_failed_refresh_of_an_unreadable_state_breaks_nothing
                c111_odd_keys_have_locks_of_their_own
                c112_odd_keys_have_states_and_messages_of_their_own
                c113_versions_of_a_call_site_do_not_meet
                c114_a_state_proves_whose_it_is
            }
            time {
                c115_a_state_may_live_for_a_millisecond
                c116_a_state_may_live_for_999_milliseconds
                c117_a_state_may_live_for_1500_milliseconds
                c118_a_lease_may_last_for_1500_milliseconds
                c119_a_lease_below_the_grain_is_rounded_up
                c120_a_state_may_live_for_a_year
                c121_computed_at_is_when_the_body_ended
                c122_the_leaders_own_date_is_believed_when_it_can_be_true
                c123_a_date_that_cannot_be_true_is_not_believed
                c124_stamps_of_successive_flights_grow
                c125_the_clock_agrees_with_the_stamps
                c126_the_clock_goes_with_time
                c127_a_question_that_nobody_awaits_wedges_nothing
                c128_a_thousand_keys_are_led_at_once
                c129_a_coordinator_has_a_kind_and_closes
            }
        }
    };
}

macro_rules! stamp {
    ($subject:ty; $($group:ident { $($case:ident)* })*) => {$($(
        #[test]
        fn $case() {
            <$subject as crate::world::Subject>::run(crate::cases::$group::$case);
        }
    )*)*};
}

pub(crate) use {run_all_on, stamp};
