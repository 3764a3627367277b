//! One execution for the whole fleet: four pods, one Redis, every count exact.

use coalesce_rig::{Answer, Burst, Fails, Fleet, Pod, Site};

const POD: &str = env!("CARGO_BIN_EXE_pod");

fn scene(pods: usize) -> Fleet {
    Fleet::start(POD, pods)
}

fn values_of_other_keys(answers: &[Answer]) -> usize {
    answers
        .iter()
        .filter(|answer| answer.of_key.as_ref().is_some_and(|of| *of != answer.key))
        .count()
}

fn assert_all_got_run(answers: &[Answer], run: &str) {
    for answer in answers {
        assert_eq!(answer.run.as_deref(), Some(run), "{answer:?}");
    }
}

/// How long the slowest caller waited, in milliseconds.
fn longest_ms(answers: &[Answer]) -> u64 {
    answers
        .iter()
        .map(|answer| (answer.answered - answer.arrived) / 1000)
        .max()
        .unwrap_or(0)
}

#[test]
fn a_cold_key_is_computed_once_and_a_warm_one_not_at_all() {
    let mut scene = scene(4);
    let burst = Burst::of(Site::Fresh, 13);
    let cold = scene.burst(&burst);
    assert_eq!((cold.len(), scene.runs()), (52, 1));
    assert_all_got_run(&cold, &scene.ledger.runs()[0].name);
    assert!(
        longest_ms(&cold) < 100 + 5 * 150,
        "{} ms",
        longest_ms(&cold)
    );
    let warm = scene.burst(&burst);
    assert_eq!((warm.len(), scene.runs()), (52, 1));
    scene.assert_nothing_left();
}

#[test]
fn five_keys_are_five_runs_in_parallel() {
    let mut scene = scene(4);
    let keys: Vec<_> = (0..5).map(|key| format!("k{key}")).collect();
    let answers = scene.burst(&Burst {
        keys,
        ..Burst::of(Site::InFlight, 13)
    });
    assert_eq!(
        (answers.len(), scene.runs(), values_of_other_keys(&answers)),
        (52, 5, 0)
    );
    assert!(
        longest_ms(&answers) < 100 + 5 * 150,
        "{} ms",
        longest_ms(&answers)
    );
    scene.assert_nothing_left();
}

#[test]
fn a_failing_body_runs_once_and_every_caller_gets_its_error() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst {
        fails: Fails::Always,
        ..Burst::of(Site::InFlight, 13)
    });
    let equal = answers
        .iter()
        .filter(|answer| answer.error.as_deref() == Some("db down"))
        .count();
    assert_eq!((equal, scene.runs()), (52, 1));
    assert!(
        longest_ms(&answers) < 100 + 5 * 150,
        "{} ms",
        longest_ms(&answers)
    );
    let again = scene.burst(&Burst {
        fails: Fails::Always,
        ..Burst::of(Site::InFlight, 13)
    });
    assert_eq!(
        (again.len(), scene.runs()),
        (52, 2),
        "a later caller leads a new flight"
    );
    scene.assert_nothing_left();
}

#[test]
fn with_retry_one_follower_leads_again_and_the_rest_share_its_result() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst {
        fails: Fails::First,
        ..Burst::of(Site::Retry, 5)
    });
    let failed = answers
        .iter()
        .filter(|answer| answer.error.is_some())
        .count();
    assert_eq!((failed, scene.runs()), (1, 2), "{answers:?}");
    scene.assert_nothing_left();
}

#[test]
fn a_thousand_staggered_calls_share_about_ten_runs_and_none_ended_before_its_caller_arrived() {
    let mut scene = scene(4);
    for (number, pod) in scene.pods.iter_mut().enumerate() {
        // Round robin: together the four pods start one caller each millisecond.
        let delay_ms = 50 + number as u64;
        pod.begin(&Burst {
            gap_ms: 4,
            delay_ms,
            ..Burst::of(Site::InFlight, 250)
        });
    }
    let answers: Vec<_> = scene.pods.iter_mut().flat_map(Pod::answers).collect();
    let runs = scene.ledger.runs();
    assert_eq!(answers.len(), 1000);
    for answer in &answers {
        assert!(
            answer.ended.expect("its end") >= answer.arrived,
            "{answer:?}"
        );
    }
    let mut received: Vec<_> = answers
        .iter()
        .filter_map(|answer| answer.run.as_deref())
        .collect();
    received.sort_unstable();
    received.dedup();
    assert_eq!(
        received.len(),
        runs.len(),
        "every run was somebody's answer"
    );
    assert_eq!(scene.ledger.most_at_once(), 1);
    // On an idle machine 10 to 13; each run is longer on a busy one, never shorter.
    assert!((5..=13).contains(&runs.len()), "{} runs", runs.len());
    scene.assert_nothing_left();
}

#[test]
fn closed_loops_in_four_processes_never_overlap() {
    let mut scene = scene(4);
    let burst = Burst {
        rounds: 20,
        body_ms: 20,
        ..Burst::of(Site::InFlight, 3)
    };
    let answers = scene.burst(&burst);
    assert_eq!(answers.len(), 240);
    assert_eq!(scene.ledger.most_at_once(), 1);
    // A pod that is a little late to a round makes one of its own: 20 rounds, and some slack for a busy machine.
    assert!((20..=40).contains(&scene.runs()), "{} runs", scene.runs());
    scene.assert_nothing_left();
}

#[test]
fn an_oversized_value_is_run_once_per_process_and_in_parallel() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst::of(Site::Oversized, 10));
    assert_eq!((answers.len(), scene.runs()), (40, 4));
    assert!(answers.iter().all(|answer| answer.error.is_none()));
    assert!(
        longest_ms(&answers) < 200 + 5 * 150,
        "not one after another: {} ms",
        longest_ms(&answers)
    );
    scene.assert_nothing_left();
}

#[test]
fn a_stale_value_is_served_at_once_and_refreshed_once_in_the_whole_fleet() {
    let mut scene = scene(4);
    let burst = Burst {
        body_ms: 300,
        ..Burst::of(Site::Stale, 50)
    };
    scene.burst(&burst);
    let computed = scene.ledger.runs()[0].ended.expect("its end");
    // The fresh time is over one second behind the end of the run, by the clock of this machine.
    while coalesce_rig::now_micros() < computed + 1_200_000 {
        std::thread::yield_now();
    }
    let stale = scene.burst(&burst);
    assert_all_got_run(&stale, &scene.ledger.runs()[0].name);
    assert!(
        longest_ms(&stale) < 300,
        "nobody waited for the refresh: {} ms",
        longest_ms(&stale)
    );
    let fresh = loop {
        let answers = scene.burst(&Burst::of(Site::Stale, 1));
        if answers
            .iter()
            .all(|answer| answer.run.as_deref() != Some(&scene.ledger.runs()[0].name))
        {
            break answers;
        }
    };
    assert_eq!(scene.runs(), 2);
    assert_all_got_run(&fresh, &scene.ledger.runs()[1].name);
}

#[test]
fn an_invalidation_is_seen_by_the_next_caller_of_every_process() {
    let mut scene = scene(3);
    let burst = Burst {
        body_ms: 10,
        ..Burst::of(Site::Fresh, 5)
    };
    scene.burst(&burst);
    scene.pods[2].invalidate("a");
    let answers = scene.burst(&burst);
    assert_eq!(scene.runs(), 2);
    assert_all_got_run(&answers, &scene.ledger.runs()[1].name);
}

#[test]
fn an_invalidation_during_a_flight_keeps_its_value_from_newcomers() {
    let mut scene = scene(3);
    for pod in &mut scene.pods {
        pod.begin(&Burst {
            body_ms: 1_500,
            ..Burst::of(Site::Fresh, 5)
        });
    }
    while scene.runs() == 0 {
        std::thread::yield_now();
    }
    scene.pods[1].invalidate("a");
    let late_arrival = coalesce_rig::now_micros();
    scene.pods[2].begin(&Burst {
        body_ms: 10,
        ..Burst::of(Site::Fresh, 5)
    });
    let answers: Vec<_> = [0, 1, 2, 2]
        .into_iter()
        .flat_map(|pod| scene.pods[pod].answers())
        .collect();
    let old = scene.ledger.runs()[0].name.clone();
    for answer in answers
        .iter()
        .filter(|answer| answer.arrived >= late_arrival)
    {
        assert_ne!(
            answer.run.as_ref(),
            Some(&old),
            "{answer:?} arrived behind the invalidation"
        );
    }
    assert_eq!(scene.runs(), 2);
    scene.assert_nothing_left();
}
