// The inference servers beside nodes, which neither Kubernetes nor the store watch.

import type { PodView } from '../observed/kubernetes-view.ts'

/** Until then a server that says nothing has not begun to; it loads its models afterwards. */
const START_MAX_MS = 60_000

/** Why the inference server beside a node will not serve by itself; undefined for one that serves, or that may be about to. */
export function inferenceFailure(pod: PodView, nowMs: number): string | undefined {
  if (pod.inference === undefined) return undefined
  const { state, message, problem } = pod.inference
  const reason = problem?.message ?? message
  if (reason !== undefined) return `${pod.name}: ${reason}`
  const isLate = pod.isReady && nowMs - pod.readyChangedAtMs > START_MAX_MS
  if (state !== 'Silent' || !isLate) return undefined
  return `${pod.name}: the inference server does not answer on its health port`
}
