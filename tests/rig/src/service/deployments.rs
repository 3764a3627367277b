//! One function in the deployments of a service: what it returns has changed between them.

use coalesce::coalesce;
use serde::{Deserialize, Serialize};

use super::sites::{Failure, Made, Task, work};

/// The deployment that this pod is of.
const DEPLOYMENT: &str = "RIG_DEPLOYMENT";

/// `RIG_DEPLOYMENT` says as which the pod was built; without it, it is the first.
pub(super) async fn call(key: String, task: Task) -> Result<Made, Failure> {
    let deployment = std::env::var(DEPLOYMENT).unwrap_or_default();
    match deployment.as_str() {
        "" | "first" => first::order(key, task).await.map(Into::into),
        "compatible" => compatible::order(key, task).await.map(Into::into),
        "renamed" => renamed::order(key, task).await.map(Into::into),
        "new version" => new_version::order(key, task).await.map(Into::into),
        other => panic!("there is no deployment {other:?}"),
    }
}

/// A deployment: what the function returns, how that is made, and what is set.
macro_rules! deployment {
    (
        $module:ident: { $($field:ident: $type:ty),* }, $made:ident => $made_of:expr,
        $order:ident => $run:expr $(, $option:ident = $value:literal)?;
    ) => {
        mod $module {
            use super::*;

            #[derive(Serialize, Deserialize)]
            pub(super) struct Order {
                $($field: $type),*
            }

            impl From<Made> for Order {
                fn from($made: Made) -> Self {
                    $made_of
                }
            }

            impl From<Order> for Made {
                fn from($order: Order) -> Self {
                    Self::of($order.key, $run)
                }
            }

            #[coalesce(namespace = "rig.orders", key = key, skip(task), fresh_ttl = "60s" $(, $option = $value)?)]
            pub(super) async fn order(key: String, task: Task) -> Result<Order, Failure> {
                work(key, task, 0).await.map(Into::into)
            }
        }
    };
}

deployment! {
    first: { key: String, run: String, note: Option<String> },
    made => Order { key: made.key, run: made.run, note: Some("first".to_owned()) },
    order => order.run;
}

// Fields have moved, one that may be absent is new, one is gone.
deployment! {
    compatible: { total: Option<u64>, run: String, key: String },
    made => Order { total: Some(9), run: made.run, key: made.key },
    order => order.run;
}

// A field has another name.
deployment! {
    renamed: { key: String, made_by: String },
    made => Order { key: made.key, made_by: made.run },
    order => order.made_by;
}

// The same, with entries of its own.
deployment! {
    new_version: { key: String, made_by: String },
    made => Order { key: made.key, made_by: made.run },
    order => order.made_by, version = 2;
}
