//! Known cases of single flight over real processes; `tests/REFERENCE.md` says which case each test is about.

use coalesce_rig::{Answer, Burst, Fails, Fleet, Monitor, Pod, Site, eventually};

const POD: &str = env!("CARGO_BIN_EXE_pod");

fn scene(pods: usize) -> Fleet {
    Fleet::start(POD, pods)
}

/// A burst with a body so long that no pod of a busy machine comes too late to share it.
fn shared(site: Site, callers: usize) -> Burst {
    Burst {
        body_ms: 500,
        ..Burst::of(site, callers)
    }
}

fn milliseconds(answer: &Answer) -> u64 {
    (answer.answered - answer.arrived) / 1_000
}

/// I-02, I-07, I-13, I-14.
#[test]
fn a_flight_writes_its_state_once_in_the_whole_fleet() {
    for (pods, callers) in [(4, 13), (2, 50)] {
        let mut scene = scene(pods);
        let mut monitor = Monitor::start(&scene.server);
        for site in [Site::Fresh, Site::InFlight] {
            let before = scene.runs();
            let answers = scene.burst(&shared(site, callers));
            assert_eq!((answers.len(), scene.runs()), (pods * callers, before + 1));
            scene.assert_all_got_run(&answers, before + 1);
            assert_eq!(monitor.take().state_writes(), 1, "{site:?}");
        }
        scene.assert_nothing_left();
    }
}

/// I-08, I-09.
#[test]
fn a_context_is_everybodys_own_unless_it_is_skipped() {
    let mut scene = scene(4);
    let own = scene.burst(&Burst::of(Site::EveryCaller, 13));
    assert_eq!((own.len(), scene.runs()), (52, 52));
    let mut names: Vec<_> = own.iter().map(|answer| answer.caller.clone()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 52, "every caller got its own value");
    for pod in &mut scene.pods {
        let state = pod.state();
        assert_eq!((state.executions, state.saved), (13, 0));
    }
    let shared = scene.burst(&shared(Site::AnyCaller, 13));
    assert_eq!((shared.len(), scene.runs()), (52, 53));
    let name = shared[0].caller.as_ref().expect("a value");
    let leader = scene.ledger.runs()[52].name.clone();
    assert_eq!(name.split('.').next(), leader.split('.').next());
    for answer in &shared {
        assert_eq!(answer.caller.as_ref(), Some(name), "the leader's context");
    }
    let saved: u64 = scene.pods.iter_mut().map(|pod| pod.state().saved).sum();
    assert_eq!(saved, 51);
}

/// I-10, I-11, X-06.
#[test]
fn who_gives_up_gets_an_error_without_arguments_and_who_comes_later_joins_the_same_flight() {
    let mut scene = scene(2);
    let patient = [("RIG_PENDING", "20s"), ("RIG_WAIT", "30s")];
    let burst = |callers| Burst {
        keys: vec!["customer-4711".to_owned()],
        body_ms: 3_000,
        ..Burst::of(Site::Patient, callers)
    };
    scene.pod(&patient).begin(&burst(1));
    eventually("the body runs", || scene.runs() == 1);
    for place in [0, 1] {
        scene.pods[place].begin(&burst(9));
    }
    for place in [0, 1] {
        for answer in scene.pods[place].answers() {
            let text = answer.error.clone().unwrap_or_default();
            assert!(text.contains("wait timeout"), "{answer:?}");
            assert!(text.contains("patient"), "{text}");
            assert!(!text.contains("4711"), "{text}");
            let waited = milliseconds(&answer);
            assert!((400..1_400).contains(&waited), "{waited} ms");
        }
    }
    scene.pod(&patient).begin(&burst(5));
    let leading = scene.pods[2].answers();
    let late = scene.pods[3].answers();
    assert_eq!((leading.len(), late.len(), scene.runs()), (1, 5, 1));
    scene.assert_all_got_run(&leading, 1);
    scene.assert_all_got_run(&late, 1);
}

/// I-12.
#[test]
fn who_waits_without_a_limit_gets_the_value() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst {
        body_ms: 4_000,
        ..Burst::of(Site::Endless, 3)
    });
    assert_eq!((answers.len(), scene.runs()), (12, 1));
    scene.assert_all_got_run(&answers, 1);
}

/// I-15.
#[test]
fn a_hundred_callers_within_one_body_share_one_or_two_runs() {
    let mut scene = scene(4);
    for (number, pod) in scene.pods.iter_mut().enumerate() {
        pod.begin(&Burst {
            gap_ms: 4,
            delay_ms: 50 + number as u64,
            ..Burst::of(Site::InFlight, 25)
        });
    }
    let answers: Vec<_> = scene.pods.iter_mut().flat_map(Pod::answers).collect();
    assert_eq!(answers.len(), 100);
    assert!((1..=2).contains(&scene.runs()), "{} runs", scene.runs());
}

/// I-16.
#[test]
fn a_map_is_one_key_in_every_process_whatever_its_order_there() {
    let mut scene = scene(4);
    let answers = scene.burst(&shared(Site::Mapped, 13));
    assert_eq!((answers.len(), scene.runs()), (52, 1));
    scene.assert_all_got_run(&answers, 1);
}

/// I-17: by the attribute's option and by the environment, in some processes of a fleet.
#[test]
fn processes_that_are_switched_off_run_everything_and_ask_redis_nothing() {
    for off in [("RIG_ENABLED", "false"), ("COALESCE_DISABLED", "1")] {
        let mut scene = scene(0);
        for _ in 0..2 {
            scene.pod(&[off]);
        }
        let mut monitor = Monitor::start(&scene.server);
        let answers = scene.burst(&Burst::of(Site::Switched, 25));
        assert_eq!((answers.len(), scene.runs()), (50, 50), "{off:?}");
        assert_eq!(monitor.take().all_sent(), 0, "{off:?}");
        for pod in &mut scene.pods {
            assert_eq!(pod.state().bypassed, 25, "{off:?}");
        }
        scene.pod(&[]).begin(&Burst::of(Site::Switched, 25));
        let shared = scene.pods[2].answers();
        assert_eq!((shared.len(), scene.runs()), (25, 51), "{off:?}");
        assert!(monitor.take().all_sent() > 0, "{off:?}");
    }
}

///
#[test]
fn a_caller_that_calls_again_when_answered_makes_a_second_run_and_no_more() {
    let mut scene = scene(4);
    for (place, pod) in scene.pods.iter_mut().enumerate() {
        let (callers, rounds) = if place == 0 { (1, 2) } else { (3, 1) };
        pod.begin(&Burst {
            rounds,
            ..shared(Site::InFlight, callers)
        });
    }
    let answers: Vec<_> = scene.pods.iter_mut().flat_map(Pod::answers).collect();
    assert_eq!((answers.len(), scene.runs()), (11, 2));
    scene.assert_all_got_run(&answers[1..2], 2);
    scene.assert_all_got_run(&answers[2..], 1);
}

///
#[test]
fn an_error_that_says_nothing_is_an_error_in_every_process() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst {
        fails: Fails::Silently,
        ..shared(Site::InFlight, 5)
    });
    assert_eq!((answers.len(), scene.runs()), (20, 1));
    for answer in answers {
        assert_eq!(answer.error.as_deref(), Some(""), "{answer:?}");
    }
}

///
#[test]
fn a_thousand_keys_leave_no_local_entry_and_no_key_without_an_expiry() {
    let mut scene = scene(4);
    for (place, pod) in scene.pods.iter_mut().enumerate() {
        // Each key is asked for in two pods.
        let keys = (0..500).map(|key| format!("k{}", (place * 250 + key) % 1_000));
        pod.begin(&Burst {
            keys: keys.collect(),
            ..shared(Site::Fresh, 500)
        });
    }
    let answers: Vec<_> = scene.pods.iter_mut().flat_map(Pod::answers).collect();
    assert_eq!(answers.len(), 2_000);
    for answer in &answers {
        assert_eq!(answer.of_key.as_ref(), Some(&answer.key), "{answer:?}");
    }
    scene.assert_nothing_left();
}

///
#[test]
fn types_of_one_name_in_two_modules_share_nothing() {
    let mut scene = scene(4);
    for site in [Site::OneService, Site::OtherService] {
        for pod in &mut scene.pods {
            pod.begin(&Burst::of(site, 5));
        }
    }
    // Answers of the two come in the order in which they end.
    let answers: Vec<_> = [0, 1, 2, 3, 0, 1, 2, 3]
        .iter()
        .flat_map(|&place: &usize| scene.pods[place].answers())
        .collect();
    assert_eq!((answers.len(), scene.runs()), (40, 2));
    for run in scene.ledger.runs() {
        let of_run = |answer: &&Answer| answer.run.as_ref() == Some(&run.name);
        assert_eq!(answers.iter().filter(of_run).count(), 20);
    }
}

///
#[test]
fn a_body_that_reaches_its_own_key_runs_through() {
    let mut scene = scene(4);
    let answers = scene.burst(&shared(Site::Recursive, 5));
    assert_eq!((answers.len(), scene.runs()), (20, 1));
    scene.assert_all_got_run(&answers, 1);
    let longest = answers.iter().map(milliseconds).max().unwrap_or(0);
    assert!(longest < 2_000, "{longest} ms: nobody waited for itself");
}

/// Ten bodies within one another, each of them anybody's.
#[test]
fn bodies_that_reach_ten_keys_one_within_another_run_through() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst {
        keys: (1..=10).map(|number| number.to_string()).collect(),
        body_ms: 500,
        ..Burst::of(Site::Nested, 20)
    });
    assert_eq!((answers.len(), scene.runs()), (80, 1));
    scene.assert_all_got_run(&answers, 1);
    let longest = answers.iter().map(milliseconds).max().unwrap_or(0);
    assert!(
        longest < 500 + 5 * 500,
        "{longest} ms: nobody waited for another that waited"
    );
    scene.assert_nothing_left();
}

///
#[test]
fn a_leader_whose_client_disconnects_goes_on_for_the_others() {
    let mut scene = scene(4);
    let burst = |dropped_after_ms| Burst {
        body_ms: 1_000,
        dropped_after_ms,
        ..Burst::of(Site::InFlight, 5)
    };
    scene.pods[0].begin(&burst(Some(200)));
    eventually("the body runs", || scene.runs() == 1);
    for pod in &mut scene.pods[1..] {
        pod.begin(&burst(None));
    }
    for answer in scene.pods[0].answers() {
        assert_eq!(answer.error.as_deref(), Some("dropped"), "{answer:?}");
    }
    let others: Vec<_> = scene.pods[1..].iter_mut().flat_map(Pod::answers).collect();
    assert_eq!((others.len(), scene.runs()), (15, 1));
    scene.assert_all_got_run(&others, 1);
    scene.assert_nothing_left();
}

/// X-10, D10.
#[test]
fn a_panic_is_the_leading_callers_own_and_one_other_takes_over_at_once() {
    let mut scene = scene(4);
    let answers = scene.burst(&Burst {
        fails: Fails::FirstPanics,
        ..shared(Site::InFlight, 5)
    });
    assert_eq!(scene.runs(), 2);
    let (panicked, served): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|answer| answer.error.is_some());
    assert_eq!((panicked.len(), served.len()), (1, 19), "{panicked:?}");
    assert_eq!(panicked[0].error.as_deref(), Some("panicked"));
    scene.assert_all_got_run(&served, 2);
    let longest = served.iter().map(milliseconds).max().unwrap_or(0);
    // Told by a message: a lease would have lasted three seconds.
    assert!(longest < 2_500, "{longest} ms");
    scene.assert_nothing_left();
}
