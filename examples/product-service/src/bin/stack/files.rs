//! The files of `deploy`, which Docker mounts and this program fills in.

use anyhow::{Result, bail};

pub const NGINX: &str = include_str!("../../../deploy/nginx/nginx.conf.template");
pub const PROMETHEUS: &str = include_str!("../../../deploy/prometheus/prometheus.yml");
pub const PRODUCT_ALERTS: &str =
    include_str!("../../../deploy/prometheus/rules/product-service.yml");
pub const PRODUCT_ALERTS_TEST: &str = include_str!("../../../deploy/prometheus/rules_test.yml");
pub const COALESCE_ALERTS: &str = include_str!("../../../../observability/alerts.yml");
pub const COALESCE_ALERTS_TEST: &str = include_str!("../../../../observability/alerts_test.yml");
pub const PRODUCT_DASHBOARD: &str =
    include_str!("../../../deploy/grafana/dashboards/product-service.json");
pub const COALESCE_DASHBOARD: &str = include_str!("../../../../observability/dashboard.json");

/// A template with each `${NAME}` replaced, as the entry point of nginx's image does.
pub fn filled_in(template: &str, names: &[(String, String)]) -> Result<String> {
    let mut text = template.to_owned();
    for (name, value) in names {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    // The comment at its top speaks of `${…}`.
    if let Some(left) = text.split("${").skip(1).find(|rest| !rest.starts_with('…')) {
        let name: String = left.chars().take_while(|c| *c != '}').collect();
        bail!("the template asks for {name}, which nobody gives");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_nobody_gives_is_an_error_and_not_an_odd_configuration() {
        let given = [("PORT".to_owned(), "80".to_owned())];
        let text = "# `${…}`\nlisten ${PORT}; set $host;";
        assert_eq!(
            filled_in(text, &given).unwrap(),
            "# `${…}`\nlisten 80; set $host;"
        );
        let missing = filled_in("listen ${PORT} ${BACKLOG};", &given).unwrap_err();
        assert!(missing.to_string().contains("BACKLOG"), "{missing}");
    }
}
