// Directed graphs of folders and layers: who reaches whom, circles, and the arrows that a picture needs.

/** The nodes that each node points to. Every target is a node, too. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>

export function buildGraph(arrows: Iterable<readonly [from: string, to: string]>): Graph {
  const graph = new Map<string, Set<string>>()
  const targetsOf = (node: string): Set<string> => {
    const targets = graph.get(node) ?? new Set()
    graph.set(node, targets)
    return targets
  }
  for (const [from, to] of arrows) {
    targetsOf(to)
    if (from !== to) targetsOf(from).add(to)
  }
  return graph
}

/** The nodes that a walk of one arrow or more comes to. */
export function reachedFrom(graph: Graph, start: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const pending = [start]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const next of graph.get(node) ?? []) {
      if (reached.has(next)) continue
      reached.add(next)
      pending.push(next)
    }
  }
  return reached
}

/** Nodes that reach one another, each set sorted. Empty for a graph without circles. */
export function knotsOf(graph: Graph): string[][] {
  const reached = new Map([...graph.keys()].map((node) => [node, reachedFrom(graph, node)]))
  const knots = [...graph.keys()].map((node) =>
    [...graph.keys()].filter(
      (other) => reached.get(node)?.has(other) === true && reached.get(other)?.has(node) === true,
    ),
  )
  const sorted = knots.filter((knot) => knot.length > 0).map((knot) => knot.toSorted())
  return [...new Map(sorted.map((knot) => [knot.join(' '), knot])).values()]
}

/** Transitive reduction of a graph without circles: arrows that no longer way replaces. */
export function reduced(graph: Graph): Graph {
  return new Map(
    [...graph].map(([node, targets]) => {
      const behind = [...targets].map((target) => reachedFrom(graph, target))
      return [node, new Set([...targets].filter((to) => !behind.some((far) => far.has(to))))]
    }),
  )
}
