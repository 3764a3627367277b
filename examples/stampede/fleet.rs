//! The fleet: pods behind pipes, each a child process or a simulation in this one.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use coalesce::Coalescer;
use coalesce::coordination::Coordinator;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::wire::{Failure, GO, Plan, Report};
use crate::{pod, show};

/// How long pods may take to end after their farewell.
const FAREWELL: Duration = Duration::from_secs(3);

/// How much a simulated pod can write before the parent has to read.
const PIPE: usize = 64 * 1024;

pub struct Fleet {
    pods: Vec<Pod>,
    heard: UnboundedReceiver<(usize, Option<Report>)>,
}

struct Pod {
    /// The pod goes when this is closed.
    orders: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    body: Body,
}

enum Body {
    /// Killed when dropped.
    Process(Child),
    Simulation(JoinHandle<()>),
}

impl Fleet {
    /// Pods that are processes: this program again, with a plan. The Redis comes with the
    /// environment, where other users of this machine cannot read its password.
    pub fn of_processes(plans: Vec<Plan>, url: &str) -> Result<Self, Failure> {
        let (tell, heard) = unbounded_channel();
        let spawn = |plan: Plan| -> Result<Pod, Failure> {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("--pod")
                .arg(serde_json::to_string(&plan)?)
                .env("COALESCE_REDIS_URL", url)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .kill_on_drop(true)
                .spawn()?;
            let (orders, reports) = (child.stdin.take(), child.stdout.take());
            let reports = reports.ok_or("a pod has no stdout")?;
            tokio::spawn(listen(plan.pod, reports, tell.clone()));
            Ok(Pod {
                orders: orders.map(|pipe| Box::new(pipe) as _),
                body: Body::Process(child),
            })
        };
        let pods = plans.into_iter().map(spawn).collect::<Result<_, _>>()?;
        Ok(Self { pods, heard })
    }

    /// Pods that are tasks: coalescers that share one coordinator, as processes share a Redis.
    pub fn of_simulations(plans: Vec<Plan>, coordinator: &Arc<dyn Coordinator>) -> Self {
        let (tell, heard) = unbounded_channel();
        let spawn = |plan: Plan| {
            let (orders, inbox) = tokio::io::duplex(PIPE);
            let (outbox, reports) = tokio::io::duplex(PIPE);
            tokio::spawn(listen(plan.pod, reports, tell.clone()));
            let builder = Coalescer::builder().coordinator(Arc::clone(coordinator));
            let task = tokio::spawn(async move {
                if let Err(error) = pod::serve(plan, builder, inbox, outbox).await {
                    // Its pipes are closed now, which the parent takes for the pod's death.
                    show::complain(&error);
                }
            });
            Pod {
                orders: Some(Box::new(orders)),
                body: Body::Simulation(task),
            }
        };
        let pods = plans.into_iter().map(spawn).collect();
        Self { pods, heard }
    }

    /// The next report and whose it is; `None` in its place when a pod has gone.
    pub async fn hear(&mut self) -> Result<(usize, Option<Report>), Failure> {
        self.heard
            .recv()
            .await
            .ok_or_else(|| "all pods have gone".into())
    }

    /// Opens the barrier.
    pub async fn go(&mut self) -> Result<(), Failure> {
        for pod in &mut self.pods {
            if let Some(orders) = &mut pod.orders {
                orders.write_all(GO).await?;
                orders.flush().await?;
            }
        }
        Ok(())
    }

    /// SIGKILL.
    pub fn kill(&mut self, pod: usize) -> Result<(), Failure> {
        match &mut self.pods[pod].body {
            Body::Process(child) => Ok(child.start_kill()?),
            Body::Simulation(_) => Err("a simulated pod cannot be killed".into()),
        }
    }

    /// Sends all pods home and waits until they have gone.
    pub async fn dismiss(mut self) {
        for pod in &mut self.pods {
            pod.orders = None;
        }
        for pod in &mut self.pods {
            // Whoever stays longer is killed when the fleet is dropped.
            let _ = tokio::time::timeout(FAREWELL, pod.ended()).await;
        }
    }
}

impl Pod {
    async fn ended(&mut self) {
        match &mut self.body {
            Body::Process(child) => drop(child.wait().await),
            Body::Simulation(task) => drop(task.await),
        }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        if let Body::Simulation(task) = &self.body {
            task.abort();
        }
    }
}

/// Hands on what a pod says until its pipe closes.
async fn listen<R: AsyncRead + Unpin>(
    pod: usize,
    reports: R,
    tell: UnboundedSender<(usize, Option<Report>)>,
) {
    let mut lines = BufReader::new(reports).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(report) => drop(tell.send((pod, Some(report)))),
            Err(_) => break,
        }
    }
    let _ = tell.send((pod, None));
}
