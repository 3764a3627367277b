//! Names of users do not meet names of ours.

use super::ready;

mod hostile {
    //! Everything generated code could stumble over.
    #![expect(dead_code, unused_macros, reason = "these are in the way, not in use")]

    mod std {}
    mod core {}
    mod coalesce {}
    mod tokio {}
    mod tracing {}

    pub(super) struct Call;
    pub(super) struct Piece;
    pub(super) struct CallSite;
    pub(super) struct Entry;
    pub(super) struct Box;
    pub(super) struct Future;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    pub(super) enum Result {
        Ok,
        Err,
    }

    #[derive(Debug)]
    pub(super) enum Option {
        Some,
        None,
    }

    pub(super) use self::Option::*;
    pub(super) use self::Result::*;

    macro_rules! file {
        () => {
            compile_error!("not this one")
        };
    }
    macro_rules! line {
        () => {
            compile_error!("not this one")
        };
    }
    #[::coalesce::coalesce]
    pub(super) async fn types(id: u64, name: &str, maybe: ::core::option::Option<&str>) -> Result {
        let _ = (Some, None, name, maybe);
        if id == 0 { Ok } else { Err }
    }
}

#[::coalesce::coalesce]
#[expect(clippy::too_many_arguments, reason = "every name that could clash")]
async fn arguments(
    key: u64,
    call: u64,
    site: u64,
    result: u64,
    value: u64,
    shape: u64,
    redis: u64,
    output: &str,
    run: &[u64],
) -> u64 {
    key + call + site + result + value + shape + redis + run.len() as u64 + output.len() as u64
}

#[expect(dead_code, reason = "these are in the way, not in use")]
trait Getter {
    fn key(&self, id: u64) -> u64;
    fn on(&self) -> u64;
    fn run(&self) -> u64;
    fn to_owned(&self) -> u64;
    fn borrow(&self) -> u64;
    fn clone(&self) -> u64;
    fn map(&self) -> u64;
    fn call(&self) -> u64;
}

impl<T> Getter for T {
    fn key(&self, id: u64) -> u64 {
        id
    }
    fn on(&self) -> u64 {
        1
    }
    fn run(&self) -> u64 {
        1
    }
    fn to_owned(&self) -> u64 {
        1
    }
    fn borrow(&self) -> u64 {
        1
    }
    fn clone(&self) -> u64 {
        1
    }
    fn map(&self) -> u64 {
        1
    }
    fn call(&self) -> u64 {
        1
    }
}

#[derive(Clone)]
struct Service(u64);

impl Service {
    #[::coalesce::coalesce(entry = methods_entry)]
    async fn methods(&self, id: &u64, name: Option<&u64>) -> u64 {
        self.0 + Getter::key(id, 2) + Getter::run(&name) + self.on()
    }
}

#[tokio::test]
async fn types_modules_and_macros_may_have_any_name() {
    ready().await;
    assert_eq!(hostile::types(0, "", None).await, hostile::Result::Ok);
}

#[tokio::test]
async fn arguments_may_have_any_name() {
    ready().await;
    assert_eq!(arguments(1, 1, 1, 1, 1, 1, 1, "a", &[1]).await, 9);
}

#[tokio::test]
async fn traits_may_have_methods_of_any_name() {
    ready().await;
    assert_eq!(Service(1).methods(&1, Some(&1)).await, 5);
}
