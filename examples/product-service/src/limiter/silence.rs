//! Silence: whether an answer of Redis is still worth waiting for.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::RedisError;

/// A deadline that is noticed this much later says that this process is busy, and nothing of Redis.
const LATE: Duration = Duration::from_millis(20);

/// How often an answer is waited for once more: the deadline was noticed late, or others were answered meanwhile.
pub(super) const PATIENCE: u32 = 10;

/// When Redis was heard last. On a busy machine its answers are late and it is not dead: a limiter that then let
/// everybody through would do so just when it is needed.
#[derive(Debug)]
pub(super) struct Silence {
    deadline: Duration,
    heard: Mutex<Instant>,
}

impl Silence {
    /// Redis is silent when it has not been heard for `deadline`.
    pub(super) fn of(deadline: Duration) -> Self {
        Self {
            deadline,
            heard: Mutex::new(Instant::now()),
        }
    }

    /// An answer, unless it is an error or Redis is silent.
    pub(super) async fn answer<T>(
        &self,
        asked: impl Future<Output = Result<T, RedisError>>,
    ) -> Option<T> {
        let mut asked = pin!(asked);
        for _ in 0..PATIENCE {
            let begun = Instant::now();
            if let Ok(answer) = tokio::time::timeout(self.deadline, &mut asked).await {
                let answer = answer.ok()?;
                *self.heard() = Instant::now();
                return Some(answer);
            }
            let is_late = begun.elapsed() > self.deadline + LATE;
            if !is_late && self.heard().elapsed() >= self.deadline {
                break;
            }
        }
        None
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;
    use tokio::time::sleep;

    use super::*;

    const DEADLINE: Duration = Duration::from_millis(150);

    /// What comes of an answer that takes so long.
    async fn after(time: Duration, silence: Arc<Silence>) -> Option<()> {
        let asked = async {
            sleep(time).await;
            Ok(())
        };
        silence.answer(asked).await
    }

    #[tokio::test]
    async fn a_silent_redis_is_not_waited_for() {
        let silence = Arc::new(Silence::of(DEADLINE));
        let begun = Instant::now();
        assert_eq!(after(DEADLINE * 30, silence).await, None);
        assert!(begun.elapsed() < DEADLINE * 5, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_redis_that_answers_others_is_waited_for() {
        let silence = Arc::new(Silence::of(DEADLINE));
        let others = async {
            for _ in 0..30 {
                let answered = after(DEADLINE / 10, Arc::clone(&silence)).await;
                assert_eq!(answered, Some(()));
            }
        };
        let (answer, ()) = tokio::join!(after(DEADLINE * 2, Arc::clone(&silence)), others);
        assert_eq!(answer, Some(()));
    }

    #[tokio::test]
    async fn that_this_process_is_busy_is_no_silence() {
        let silence = Arc::new(Silence::of(DEADLINE));
        let (answers, answer) = oneshot::channel();
        let asked = tokio::spawn(async move {
            let asked = async { Ok(answer.await.is_ok()) };
            silence.answer(asked).await
        });
        // The task that brings answers is as late as everybody, and has its turn behind the one that waits.
        let brings = tokio::spawn(async {
            sleep(DEADLINE + LATE).await;
            answers.send(())
        });
        tokio::task::yield_now().await;
        // Nothing else runs in this process until long behind the deadline.
        std::thread::sleep(DEADLINE * 2);
        assert_eq!(asked.await.unwrap(), Some(true));
        assert!(brings.await.unwrap().is_ok());
    }
}
