//! The admin page in a real browser: it shows what there is, and a hostile name is a text. Run by hand, see CONTRIBUTING.md.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use axum::Router;
use coalesce_runtime::admin::{AdminAccess, router};
use coalesce_runtime::{Coalescer, Position, Scope};

const HOSTILE: &str = "<img src=x onerror=\"document.title='hacked'\">";

/// Runs the browser on `url` for a few seconds of its own time.
fn browser(url: &str, more: &[&str]) -> String {
    let profile = scratch("profile");
    let ended = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--window-size=1200,420", "--virtual-time-budget=6000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg(url)
        .output()
        .expect("chromium: on Debian `apt-get install chromium`");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

async fn load(coalescer: Coalescer, namespace: &'static str, keys: u64, body: u64) {
    loop {
        let key = fastrand::u64(..keys);
        let call = coalescer.call(namespace).key(key);
        call.run(move || async move {
            tokio::time::sleep(Duration::from_millis(body)).await;
            key
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_namespaces_pictures_and_switches_and_a_hostile_name_is_a_text() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    for _ in 0..12 {
        tokio::spawn(load(coalescer.clone(), "shop::orders::get_order", 3, 40));
        tokio::spawn(load(coalescer.clone(), "shop::stock::level", 30, 15));
    }
    coalescer.call(HOSTILE).key(1).run(|| async { 1 }).await;
    let off = Position::off().because("ada", HOSTILE);
    let turned = coalescer
        .switch(&Scope::namespace("shop::stock::level"), &off)
        .await;
    assert!(turned.unwrap().replaced.is_none());
    let app = Router::new().nest(
        "/coalesce",
        router(coalescer.clone(), AdminAccess::inner_listener()),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/coalesce", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });

    let picture = scratch("admin-page.png");
    let shot = format!("--screenshot={}", picture.display());
    let at = url.clone();
    let (dom, _) = tokio::task::spawn_blocking(move || {
        (browser(&at, &["--dump-dom"]), browser(&at, &[&shot]))
    })
    .await
    .unwrap();
    assert!(dom.contains("shop::orders::get_order"), "{dom}");
    let shown = dom
        .split("<tbody")
        .nth(1)
        .unwrap()
        .split("</tbody>")
        .next()
        .unwrap();
    assert_eq!(shown.matches("<tr>").count(), 3, "{shown}");
    assert_eq!(
        shown.matches("<svg").count(),
        9,
        "a picture for ratio, saving and wait each"
    );
    assert_eq!(shown.matches("turn off").count(), 2);
    assert_eq!(shown.matches("turn on").count(), 1);
    assert!(
        dom.contains("<form id=\"door\" hidden"),
        "nobody is asked for a token"
    );
    assert!(shown.contains("OFF, by ada") && dom.contains("<title>Coalesce</title>"));
    assert!(
        !dom.contains("<img") && shown.contains("&lt;img"),
        "{shown}"
    );
    assert!(std::fs::metadata(&picture).unwrap().len() > 10_000);
    println!("{}", picture.display());

    let all = coalescer.switch(&Scope::Everything, &Position::off()).await;
    assert!(all.unwrap().known);
    let dom = tokio::task::spawn_blocking(move || browser(&url, &["--dump-dom"]));
    let dom = dom.await.unwrap();
    let rows = dom.split("</tbody>").next().unwrap();
    assert_eq!(rows.matches("OFF with everything").count(), 2, "{rows}");
    assert_eq!(rows.matches("OFF, by ada").count(), 1, "its own position");
}
