// 300 reads within one window, of which LIMIT are admitted. The stack has to limit:
// `stack -- up --set RATE_LIMIT=100`.

import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';
import { url } from './product.js';

const LIMIT = Number(__ENV.LIMIT || 100);
const admitted = new Counter('admitted');
const rejected = new Counter('rejected');

// 429 is what is wanted here, so it is no failure.
http.setResponseCallback(http.expectedStatuses(200, 429));

export const options = {
  scenarios: {
    limited: { executor: 'per-vu-iterations', vus: 300, iterations: 1, maxDuration: '8s', gracefulStop: '0s' },
  },
  thresholds: {
    admitted: [`count==${LIMIT}`],
    rejected: [`count==${300 - LIMIT}`],
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
  },
};

export default function () {
  const response = http.get(url);
  if (response.status === 200) {
    admitted.add(1);
  } else {
    rejected.add(1);
    check(response, { 'says when to come back': (r) => Number(r.headers['Retry-After']) >= 1 });
  }
}
