// Loaded into a store's process before the store itself (`node --import`): each SIGUSR2 makes its wall
// clock leap to the next of these offsets.

import { isMainThread } from 'node:worker_threads'

const HOUR_MS = 3_600_000
const OFFSETS_MS = [2 * HOUR_MS, -2 * HOUR_MS, 720 * HOUR_MS, -5000, 0]

const realNow = Date.now
let leaps = 0
let offsetMs = 0

if (isMainThread) {
  process.on('SIGUSR2', () => {
    offsetMs = OFFSETS_MS[leaps++ % OFFSETS_MS.length] ?? 0
  })
  Date.now = () => realNow() + offsetMs
}
