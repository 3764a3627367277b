// 300 readers of one product that nobody has read yet, each once and all at the same time.

import { makeCold, read, thresholds } from './product.js';

export const options = {
  scenarios: {
    stampede: { executor: 'per-vu-iterations', vus: 300, iterations: 1, maxDuration: '15s', gracefulStop: '0s' },
  },
  thresholds: { ...thresholds('stampede', 1250), iterations: ['count==300'] },
};

export function setup() {
  makeCold();
}

export default function () {
  read();
}
