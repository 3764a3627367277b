//! The model as the checker runs it: what can happen next, and what must hold always.

use stateright::{Model, Property};

use crate::caller::{Caller, How, Leading, Phase};
use crate::setup::Setup;
use crate::world::{Question, World};

/// One thing that happens. A number is a caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Begin(usize, Question),
    Renew(usize, Question),
    Finish(usize, Question),
    Hear(usize),
    Panic(usize),
    Crash(usize),
    Stall(usize),
    Invalidate,
    TimePasses,
}

impl Model for Setup {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        for number in 0..self.callers {
            self.events_of(world, number, events);
        }
        if world.left.invalidations > 0 && !world.is_over() {
            events.push(Event::Invalidate);
        }
        if world.may_pass(self) {
            events.push(Event::TimePasses);
        }
    }

    fn next_state(&self, last: &World, event: Event) -> Option<World> {
        let mut world = last.clone();
        match event {
            Event::Begin(number, answer) => world.begin(self, number, answer),
            Event::Renew(number, answer) => world.renew(self, number, answer),
            Event::Finish(number, answer) => world.finish(self, number, answer),
            Event::Hear(number) => world.hear(self, number),
            Event::Panic(number) => world.abandon(self, number),
            Event::Invalidate => world.invalidate(self),
            Event::TimePasses => world.pass(self),
            Event::Crash(number) => {
                world.left.crashes -= 1;
                world.gone(number);
            }
            Event::Stall(number) => {
                world.left.stalls -= 1;
                world.stall(number);
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ORDER, |_, world: &World| world.outcomes_are_in_order()),
            Property::always(ONE_LEADER, |setup: &Setup, world: &World| {
                world.at_most_one_is_sure(setup)
            }),
            Property::always(NO_OWN_LEASE, |_, world: &World| {
                world.nobody_follows_itself()
            }),
            Property::always(NO_TIMEOUT, |_, world: &World| world.nobody_times_out()),
            Property::always(NO_OLD_OUTCOME, |_, world: &World| {
                world.nobody_gets_an_old_outcome()
            }),
            Property::always(NOT_DOUBLED, |_, world: &World| {
                world.no_live_leader_is_doubled()
            }),
            // Every event uses something up or lets time pass, so there is no way round in circles.
            Property::eventually(ALL_ANSWERED, |_, world: &World| world.is_over()),
            Property::sometimes(SOME_LEAD, |_, world: &World| {
                world.some_are_answered(How::Led)
            }),
            Property::sometimes(SOME_HEAR, |_, world: &World| {
                world.some_are_answered(How::Heard)
            }),
            Property::sometimes(SOME_LOOK, |_, world: &World| {
                world.some_are_answered(How::Looked)
            }),
        ]
    }
}

pub(crate) const ORDER: &str =
    "outcomes become the state once each and in the order of their flights";
pub(crate) const ONE_LEADER: &str = "at most one leader is sure of its lock";
pub(crate) const NO_OWN_LEASE: &str = "nobody waits out its own lease";
pub(crate) const NO_TIMEOUT: &str = "no caller times out";
pub(crate) const NO_OLD_OUTCOME: &str = "nobody gets an outcome from before it came";
pub(crate) const ALL_ANSWERED: &str = "every live caller is answered in the end";
pub(crate) const NOT_DOUBLED: &str = "a live leader within its time is not doubled";
pub(crate) const SOME_LEAD: &str = "some callers lead";
pub(crate) const SOME_HEAR: &str = "some callers hear their outcome";
pub(crate) const SOME_LOOK: &str = "some callers find their outcome when they look";

impl Setup {
    fn events_of(&self, world: &World, number: usize, events: &mut Vec<Event>) {
        let caller = &world.callers[number];
        match &caller.phase {
            Phase::Away if !world.is_next(number) => {}
            Phase::Away | Phase::Asking => world.asks(number, Event::Begin, events),
            Phase::Following(following) => {
                if following.look_due {
                    world.asks(number, Event::Begin, events);
                }
                if !caller.told.is_empty() {
                    events.push(Event::Hear(number));
                }
            }
            Phase::Leading(leading) => self.events_of_leader(world, number, leading, events),
            Phase::Answered { .. } | Phase::TimedOut | Phase::Gone => {}
        }
        if world.left.crashes > 0 && caller.phase != Phase::Away && !caller.is_over() {
            events.push(Event::Crash(number));
        }
    }

    fn events_of_leader(
        &self,
        world: &World,
        number: usize,
        leading: &Leading,
        events: &mut Vec<Event>,
    ) {
        world.asks(number, Event::Finish, events);
        let runs = leading.ended.is_none();
        if runs && self.beats && leading.beat_due && leading.may_retake(self) {
            world.asks(number, Event::Renew, events);
        }
        if runs && world.left.panics > 0 {
            events.push(Event::Panic(number));
        }
        if world.left.stalls > 0 && !leading.stalled {
            events.push(Event::Stall(number));
        }
    }
}

impl World {
    /// Callers differ in nothing, so they may as well come in the order of their numbers.
    fn is_next(&self, number: usize) -> bool {
        number == 0 || self.callers[number - 1].phase != Phase::Away
    }

    /// A question, and what can become of it.
    fn asks(&self, number: usize, ask: fn(usize, Question) -> Event, events: &mut Vec<Event>) {
        events.push(ask(number, Question::Answered));
        if self.left.losses > 0 {
            events.push(ask(number, Question::AnswerLost));
            events.push(ask(number, Question::Lost));
        }
    }

    fn stall(&mut self, number: usize) {
        if let Phase::Leading(leading) = &mut self.callers[number].phase {
            leading.stalled = true;
        }
    }

    fn is_over(&self) -> bool {
        self.callers.iter().all(Caller::is_over)
    }

    fn outcomes_are_in_order(&self) -> bool {
        self.past
            .stored
            .is_sorted_by(|before, after| before < after)
    }

    /// The leaders whose body runs. A fenced flight runs for its own followers beside the key's new one;
    /// that is no second leader.
    fn running(&self) -> impl Iterator<Item = &Leading> {
        self.callers
            .iter()
            .filter_map(|caller| match &caller.phase {
                Phase::Leading(leading) => {
                    let fenced = self.past.fenced & self.past.bit(leading.token) != 0;
                    (leading.ended.is_none() && !fenced).then_some(leading)
                }
                _ => None,
            })
    }

    fn at_most_one_is_sure(&self, setup: &Setup) -> bool {
        let sure = |leading: &&Leading| leading.unsure_for < setup.lease;
        self.running().filter(sure).count() <= 1
    }

    /// P6: two bodies run at a time only if the leader of one has stalled.
    fn no_live_leader_is_doubled(&self) -> bool {
        self.running().filter(|leading| !leading.stalled).count() <= 1
    }

    fn nobody_follows_itself(&self) -> bool {
        let callers = self.callers.iter().enumerate();
        !callers.clone().any(|(number, caller)| match &caller.phase {
            Phase::Following(following) => Caller::is_owner(number, following.leader),
            _ => false,
        })
    }

    fn nobody_times_out(&self) -> bool {
        let timed_out = |caller: &Caller| caller.phase == Phase::TimedOut;
        !self.callers.iter().any(timed_out)
    }

    fn nobody_gets_an_old_outcome(&self) -> bool {
        self.callers.iter().all(|caller| match caller.phase {
            Phase::Answered { with, .. } => caller.barred & self.past.bit(with) == 0,
            _ => true,
        })
    }

    fn some_are_answered(&self, wanted: How) -> bool {
        let answered =
            |caller: &Caller| matches!(caller.phase, Phase::Answered { how, .. } if how == wanted);
        self.callers.iter().any(answered)
    }
}
