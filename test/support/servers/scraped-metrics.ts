// What a server tells Prometheus, parsed: families with their labels.

const HEAD = /^# (?<what>HELP|TYPE) (?<name>\S+) (?<text>.*)$/
const SAMPLE = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/
const LABEL = /(?<name>[a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"/g
/** They tell parts of one histogram or summary apart. */
const BOUNDS: ReadonlySet<string> = new Set(['le', 'quantile'])
const SUFFIXES = ['_bucket', '_sum', '_count']

export interface ScrapedFamily {
  readonly name: string
  type: string
  help: string
  /** The labels of all samples together, without the bounds of buckets. */
  readonly labels: Set<string>
  samples: number
}

/** Throws at a line that is neither a sample nor tells of a family. */
export function parseScrape(text: string): ReadonlyMap<string, ScrapedFamily> {
  const families = new Families()
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const head = HEAD.exec(line)?.groups
    const sample = SAMPLE.exec(line)?.groups
    if (head !== undefined) families.addHead(head)
    else if (sample !== undefined) families.addSample(sample)
    else throw new SyntaxError(`not a line of Prometheus text: ${line}`)
  }
  return families.byName
}

type Groups = Readonly<Record<string, string>>

class Families {
  readonly byName = new Map<string, ScrapedFamily>()

  addHead({ what, name = '', text = '' }: Groups): void {
    const family = this.#of(name)
    if (what === 'HELP') family.help = text
    else family.type = text
  }

  addSample({ name = '', labels = '' }: Groups): void {
    const family = this.#of(baseOf(name, this.byName))
    family.samples += 1
    for (const { groups } of labels.matchAll(LABEL)) {
      const label = groups?.['name'] ?? ''
      if (!BOUNDS.has(label)) family.labels.add(label)
    }
  }

  #of(name: string): ScrapedFamily {
    const known = this.byName.get(name)
    if (known !== undefined) return known
    const family = { name, type: '', help: '', labels: new Set<string>(), samples: 0 }
    this.byName.set(name, family)
    return family
  }
}

function baseOf(name: string, families: ReadonlyMap<string, ScrapedFamily>): string {
  if (families.has(name)) return name
  const suffix = SUFFIXES.find((each) => name.endsWith(each))
  return suffix === undefined ? name : name.slice(0, -suffix.length)
}

/** The names of all series that there are, or will be. */
export function seriesNames(families: Iterable<ScrapedFamily>): ReadonlySet<string> {
  const names = [...families].flatMap(({ name, type }) =>
    type === 'histogram' ? SUFFIXES.map((suffix) => name + suffix) : [name],
  )
  return new Set(names)
}
