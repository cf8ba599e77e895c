// Metrics as Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats).
//
// Code counts its events in plain numbers. They become text at a scrape. So a metric costs an
// addition, and no hash of its labels.

export type Labels = Readonly<Record<string, string>>

/** One value of a family. Without `labels`, the family has one series. */
export interface Sample {
  readonly labels?: Labels
  readonly value: number
}

/** The metrics of one name. The names of counters, and only those, end in `_total`. */
export interface MetricFamily {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly samples: readonly Sample[]
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Answers lines of Prometheus text at each scrape. The lines of a family must be adjacent. */
export type MetricSource = () => readonly string[] | Promise<readonly string[]>

export function familyLines({ name, type, help, samples }: MetricFamily): readonly string[] {
  const lines = samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}

/** A counter with one value. */
export function counter(name: string, help: string, value: number): MetricFamily {
  return { name, type: 'counter', help, samples: [{ value }] }
}

/** A gauge with one value. */
export function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, type: 'gauge', help, samples: [{ value }] }
}

/** One sample for each member. The label `label` holds the member's name. */
export function samplesBy(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }))
}

/**
 * All metrics of a server. If a source fails (a disk that does not answer, a store that closes),
 * only its own lines are missing. A scrape must not end the process.
 */
export class MetricSources {
  readonly #sources: MetricSource[] = []
  #failures = 0

  add(source: MetricSource): void {
    this.#sources.push(source)
  }

  async lines(): Promise<readonly string[]> {
    const read = await Promise.allSettled(this.#sources.map(async (source) => source()))
    this.#failures += read.filter(({ status }) => status === 'rejected').length
    const help = 'Metric sources that failed during a scrape and were left out.'
    return [
      ...read.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
      ...familyLines(counter('quarry_metrics_failures_total', help, this.#failures)),
    ]
  }
}

/** Counts values in buckets. `observe` allocates no memory. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  /** `bounds` are upper bounds, ascending. Values above the last one count too. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += value
  }

  /** Without HELP and TYPE, so that histograms with several labels make one family. */
  sampleLines(name: string, labels: Labels = {}): readonly string[] {
    let count = 0
    const buckets = [...this.#bounds, '+Inf'].map((bound, i) => {
      count += this.#counts[i] ?? 0
      return `${name}_bucket${labelsText({ ...labels, le: String(bound) })} ${count}`
    })
    const text = labelsText(labels)
    return [...buckets, `${name}_sum${text} ${this.#sum}`, `${name}_count${text} ${count}`]
  }

  lines(name: string, help: string): readonly string[] {
    return [...histogramHead(name, help), ...this.sampleLines(name)]
  }
}

export function histogramHead(name: string, help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
}

function labelsText(labels: Labels | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
}
