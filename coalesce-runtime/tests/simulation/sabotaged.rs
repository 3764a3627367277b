//! The checker checked: each broken server is noticed, by the promise that it breaks.

use crate::outcome;
use crate::sabotage::Sabotage;

/// No sabotage stays unnoticed for longer.
const SEEDS: u64 = 400;

/// The seed at which the checker says that one of these promises is broken.
fn noticed_at(sabotage: Sabotage, promises: &[&str]) -> Option<u64> {
    (0..SEEDS).find(|seed| {
        let (wrongs, ..) = outcome(*seed, sabotage);
        wrongs.iter().any(|(promise, _)| promises.contains(promise))
    })
}

macro_rules! noticed {
    ($($test:ident: $sabotage:ident breaks $($promise:literal)+;)*) => {$(
        #[test]
        fn $test() {
            let seed = noticed_at(Sabotage::$sabotage, &[$($promise),+]);
            println!("{:?}: noticed at seed {seed:?}", Sabotage::$sabotage);
            assert!(seed.is_some(), "{:?} was not noticed within {SEEDS} seeds", Sabotage::$sabotage);
        }
    )*};
}

noticed! {
    a_state_of_another_key_is_noticed: ReadsAnotherKey breaks "P2";
    a_lost_abandon_is_noticed: LosesAbandon breaks "P6";
    a_double_grant_is_noticed: GrantsTwice breaks "S1";
    two_bodies_at_once_are_noticed: GrantsTwice breaks "P1";
    a_finish_without_a_fence_is_noticed: FinishesUnfenced breaks "P7";
    a_forgotten_invalidation_is_noticed: ForgetsInvalidation breaks "I1";
    a_state_without_an_end_is_noticed: KeepsForEver breaks "S11";
    a_late_stamp_is_noticed: StampsLate breaks "P3";
    a_hidden_outcome_is_noticed: HidesOutcomes breaks "S2";
    a_forgotten_value_is_noticed: RetainsNothing breaks "S2";
    a_forgotten_renewal_is_noticed: ForgetsRenewal breaks "P6";
    a_swallowed_finish_is_noticed: SwallowsFinish breaks "L1" "P4";
    a_leak_is_noticed: SwallowsFinish breaks "P11";
}
