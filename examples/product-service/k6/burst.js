// 1,000 reads a second of a cold product, for one second.

import { makeCold, read, thresholds } from './product.js';

export const options = {
  scenarios: {
    burst: {
      executor: 'constant-arrival-rate',
      rate: 1000,
      timeUnit: '1s',
      duration: '1s',
      preAllocatedVUs: 1000,
      maxVUs: 1000,
      gracefulStop: '10s',
    },
  },
  thresholds: { ...thresholds('burst', 1250), dropped_iterations: ['count==0'] },
};

export function setup() {
  makeCold();
}

export default function () {
  read();
}
