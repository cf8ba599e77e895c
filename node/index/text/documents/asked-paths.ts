// Which members of an object some paths lead into. A dot may stand between two members or in the name of one: `a.b.c`
// leads through the members `a`, `a.b` and `a.b.c`.

const NOTHING: ReadonlyMap<string, AskedPaths> = new Map()

/**
 * The paths from one object on. Contract:
 * - `member` is undefined if no path leads through a member of this name.
 * - `isWhole` of a member tells that a path ends there: all of its value is asked for.
 * - A look-up takes the same time however many paths there are.
 */
export class AskedPaths {
  readonly isWhole: boolean
  readonly #rests: readonly string[]
  /** Made when the first object is looked at: most members have simple values. */
  #members: ReadonlyMap<string, AskedPaths> | undefined

  /** `rests` are the paths without their beginnings. */
  constructor(rests: readonly string[], isWhole = false) {
    this.#rests = rests
    this.isWhole = isWhole
  }

  member(name: string): AskedPaths | undefined {
    this.#members ??= this.#rests.length === 0 ? NOTHING : membersOf(this.#rests)
    return this.#members.get(name)
  }
}

function membersOf(rests: readonly string[]): ReadonlyMap<string, AskedPaths> {
  const ends = new Set(rests)
  const insides = new Map<string, string[]>([...ends].map((name) => [name, []]))
  for (const rest of ends) {
    for (let at = rest.indexOf('.'); at >= 0; at = rest.indexOf('.', at + 1)) {
      const name = rest.slice(0, at)
      const inside = insides.get(name) ?? []
      inside.push(rest.slice(at + 1))
      insides.set(name, inside)
    }
  }
  return new Map(
    [...insides].map(([name, inside]) => [name, new AskedPaths(inside, ends.has(name))]),
  )
}
