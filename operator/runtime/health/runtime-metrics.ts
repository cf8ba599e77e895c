// The metrics of the operator's runtime, as Prometheus text. All series are few: none has the name of an object.

import { counter, familyLines, gauge, samplesBy } from '../../../lib/metrics.ts'
import type { Sample } from '../../../lib/metrics.ts'
import type { InformerFigures } from '../cache/informer.ts'
import type { KindCache } from '../cache/kind-cache.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { LeaderElection } from '../election/leader-election.ts'
import type { KeyedQueue } from '../queue/keyed-queue.ts'
import type { QueueWorkers } from '../queue/queue-workers.ts'

/** The parts that are measured. */
export interface MeasuredRuntime {
  readonly queue: KeyedQueue
  readonly workers: QueueWorkers
  readonly caches: readonly KindCache[]
  readonly election: Pick<LeaderElection, 'isLeading'>
  readonly events: EventRecorder
  /** Answers of the API by method and status, such as `GET 200`. */
  readonly answers: ReadonlyMap<string, number>
}

export function runtimeLines(runtime: MeasuredRuntime): readonly string[] {
  return [...queueLines(runtime), ...cacheLines(runtime.caches), ...otherLines(runtime)]
}

function queueLines({ queue, workers }: MeasuredRuntime): readonly string[] {
  const { waiting, delayed, inWork, retries, adds, oldestWaitMs, longestWorkMs } = queue.figures()
  const families = [
    gauge('quarry_operator_queue_depth', 'Keys that wait for a pass.', waiting),
    gauge('quarry_operator_queue_delayed', 'Keys whose next pass has a later moment.', delayed),
    gauge('quarry_operator_queue_in_work', 'Keys in a pass.', inWork),
    gauge('quarry_operator_queue_oldest_seconds', 'Wait of the first key.', oldestWaitMs / 1000),
    gauge('quarry_operator_longest_pass_seconds', 'Age of the oldest pass.', longestWorkMs / 1000),
    counter('quarry_operator_queue_adds_total', 'Adds of keys.', adds),
    counter('quarry_operator_queue_retries_total', 'Retries after failed passes.', retries),
  ]
  return [
    ...families.flatMap(familyLines),
    ...familyLines({
      name: 'quarry_operator_passes_total',
      type: 'counter',
      help: 'Ended passes by result.',
      samples: samplesBy('result', Object.fromEntries(workers.results)),
    }),
    ...queue.waited.lines('quarry_operator_queue_wait_seconds', 'Time that keys waited.'),
    ...queue.worked.lines('quarry_operator_pass_seconds', 'Time that passes took.'),
  ]
}

function cacheLines(caches: readonly KindCache[]): readonly string[] {
  const byKind = (valueOf: (cache: KindCache) => number): readonly Sample[] =>
    caches.map((cache) => ({ labels: { kind: cache.kind.plural }, value: valueOf(cache) }))
  const sum = (valueOf: (figures: InformerFigures) => number): readonly Sample[] =>
    byKind((cache) => cache.informers().reduce((total, one) => total + valueOf(one), 0))
  const gauges = [
    ['ready', 'Whether a kind is synced.', byKind((cache) => Number(cache.isReady()))],
    ['objects', 'Objects of a kind.', byKind(({ size }) => size)],
    [
      'last_event_seconds',
      'Time since the API said anything of a kind.',
      byKind((cache) => Math.max(...cache.informers().map((one) => one.lastEventAgeMs)) / 1000),
    ],
  ] as const
  const counters = [
    ['lists', 'Lists of a kind.', sum(({ lists }) => lists)],
    ['watches', 'Watches of a kind that were begun.', sum(({ watches }) => watches)],
    ['failures', 'Lists and watches that failed.', sum(({ failures }) => failures)],
    ['silences', 'Watches that fell silent.', sum(({ silences }) => silences)],
    ['handler_failures', 'Handlers that failed.', byKind((cache) => cache.handlerFailures)],
  ] as const
  return [
    ...gauges.flatMap(([name, help, samples]) =>
      familyLines({ name: `quarry_operator_cache_${name}`, type: 'gauge', help, samples }),
    ),
    ...counters.flatMap(([name, help, samples]) =>
      familyLines({ name: `quarry_operator_cache_${name}_total`, type: 'counter', help, samples }),
    ),
  ]
}

function otherLines({ election, events, answers }: MeasuredRuntime): readonly string[] {
  const { sent, dropped } = events.figures
  return [
    gauge('quarry_operator_leader', 'Whether this process leads.', Number(election.isLeading())),
    counter('quarry_operator_events_sent_total', 'Events that were sent.', sent),
    counter('quarry_operator_events_dropped_total', 'Events that were not sent.', dropped),
    {
      name: 'quarry_operator_api_requests_total',
      type: 'counter',
      help: 'Requests to the API by method and status; 0 has no answer.',
      samples: [...answers].map(([key, value]) => {
        const [method = '', status = ''] = key.split(' ')
        return { labels: { method, status }, value }
      }),
    } as const,
  ].flatMap(familyLines)
}
