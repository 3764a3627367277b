//! Load from outside: many requests at once or at a steady rate, and what became of each.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// What one request got.
#[derive(Clone, Debug)]
pub struct Answer {
    /// 0: none, because the connection failed.
    pub status: u16,
    pub took: Duration,
    /// In seconds, as the header says it.
    pub retry_after: Option<u64>,
    /// Empty where it is not JSON.
    pub body: Value,
}

/// What a number of requests got.
#[derive(Debug, Default)]
pub struct Answers(pub Vec<Answer>);

/// Sends one request.
pub async fn get(http: &reqwest::Client, url: &str) -> Answer {
    let began = Instant::now();
    let Ok(response) = http.get(url).send().await else {
        return Answer {
            status: 0,
            took: began.elapsed(),
            retry_after: None,
            body: Value::Null,
        };
    };
    let status = response.status().as_u16();
    let header = response.headers().get("retry-after");
    let retry_after = header.and_then(|value| value.to_str().ok()?.parse().ok());
    let body = response.bytes().await.unwrap_or_default();
    Answer {
        status,
        took: began.elapsed(),
        retry_after,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}

/// Sends so many requests at once.
pub async fn burst(http: &reqwest::Client, url: &str, requests: usize) -> Answers {
    let mut tasks = JoinSet::new();
    for _ in 0..requests {
        let (http, url) = (http.clone(), url.to_owned());
        tasks.spawn(async move { get(&http, &url).await });
    }
    Answers(tasks.join_all().await)
}

/// Sends so many requests a second, whether or not those before them have been answered. The address of
/// each is made from its number.
pub async fn steady(
    http: &reqwest::Client,
    url: impl Fn(usize) -> String,
    rate: usize,
    time: Duration,
) -> Answers {
    let mut tasks = JoinSet::new();
    let mut tick = interval(Duration::from_millis(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let began = Instant::now();
    let mut sent = 0;
    while sent < due(rate, time) {
        tick.tick().await;
        while sent < due(rate, began.elapsed().min(time)) {
            let (http, url) = (http.clone(), url(sent));
            tasks.spawn(async move { get(&http, &url).await });
            sent += 1;
        }
    }
    Answers(tasks.join_all().await)
}

/// How many requests of a steady rate have been due after this time.
fn due(rate: usize, time: Duration) -> usize {
    rate * usize::try_from(time.as_millis()).unwrap_or(usize::MAX) / 1_000
}

impl Answers {
    pub fn with(&self, status: u16) -> usize {
        self.0
            .iter()
            .filter(|answer| answer.status == status)
            .count()
    }

    /// How many there were of each status, as in `200: 300`.
    pub fn statuses(&self) -> String {
        let mut counts = BTreeMap::<u16, usize>::new();
        for answer in &self.0 {
            *counts.entry(answer.status).or_default() += 1;
        }
        let counts: Vec<_> = counts
            .iter()
            .map(|(status, n)| format!("{status}: {n}"))
            .collect();
        counts.join(", ")
    }

    /// How many answers with 200 were another product's.
    pub fn of_others(&self, id: u64) -> usize {
        let of_another = |answer: &&Answer| answer.status == 200 && answer.body["id"] != id;
        self.0.iter().filter(of_another).count()
    }

    pub fn longest(&self) -> Duration {
        self.0
            .iter()
            .map(|answer| answer.took)
            .max()
            .unwrap_or_default()
    }

    /// What 99 of 100 were not slower than.
    pub fn p99(&self) -> Duration {
        let mut times: Vec<_> = self.0.iter().map(|answer| answer.took).collect();
        times.sort_unstable();
        let rank = (times.len() * 99).div_ceil(100);
        times
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(count: u64) -> Answers {
        let answer = |number| Answer {
            status: 200,
            took: Duration::from_millis(number),
            retry_after: None,
            body: json!({ "id": if number == 7 { 2 } else { 1 } }),
        };
        Answers((1..=count).map(answer).collect())
    }

    #[test]
    fn one_answer_in_a_hundred_may_be_slower_than_the_p99() {
        for (count, p99) in [(1, 1), (50, 50), (100, 99), (300, 297), (1_000, 990)] {
            assert_eq!(answers(count).p99(), Duration::from_millis(p99), "{count}");
        }
        assert_eq!(answers(0).p99(), Duration::ZERO);
    }

    #[test]
    fn the_answer_of_another_product_is_noticed() {
        assert_eq!(answers(6).of_others(1), 0);
        assert_eq!(answers(300).of_others(1), 1);
        assert_eq!(answers(300).statuses(), "200: 300");
    }

    #[test]
    fn a_steady_rate_sends_all_of_it_and_no_more() {
        let due = |millis| due(1_000, Duration::from_millis(millis));
        assert_eq!([due(0), due(1), due(999), due(1_000)], [0, 1, 999, 1_000]);
    }
}
