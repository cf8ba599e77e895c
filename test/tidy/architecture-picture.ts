// The pictures of ARCHITECTURE.md, made from the imports: a box for each layer with its folders, and
// the arrows between layers that no longer way of arrows replaces.

import path from 'node:path'
import { buildGraph, reduced } from './graph.ts'
import type { Graph } from './graph.ts'
import { importedFiles, layeredFiles, layerOf } from './imports.ts'
import { LAYERS } from './layers.ts'

/** By the name of the picture: whether a layer is drawn in it, with all arrows from there. */
const PICTURES: Readonly<Record<string, (layer: string) => boolean>> = {
  store: (layer) => layer.startsWith('node/'),
  inference: (layer) => layer.startsWith('inference/'),
  operator: (layer) => layer.startsWith('operator/'),
  rest: (layer) => !/^(?:node|inference|operator)\//.test(layer),
}

/** Draws every picture between `<!-- picture: NAME -->` and `<!-- /picture -->` again. */
export function withPictures(architecture: string): string {
  const files = layeredFiles()
  const graph = reduced(layerGraph(files))
  const folders = foldersOf(files)
  return Object.entries(PICTURES).reduce((text, [name, isDrawn]) => {
    const [begin, end] = [`<!-- picture: ${name} -->`, '<!-- /picture -->']
    const from = text.indexOf(begin)
    const to = text.indexOf(end, from)
    if (from === -1 || to === -1) throw new Error(`ARCHITECTURE.md has no ${begin} … ${end}`)
    const picture = drawing(graph, folders, isDrawn)
    return `${text.slice(0, from + begin.length)}\n\n${picture}\n\n${text.slice(to)}`
  }, architecture)
}

/** Layers and their imports. A program's main.ts and config.ts have no layer. */
export function layerGraph(files: readonly string[]): Graph {
  return buildGraph(
    files.flatMap((file) => {
      const from = layerOf(file)
      if (from === undefined) return []
      const layers = importedFiles(file).map(layerOf)
      return [from, ...layers.filter((to) => to !== undefined)].map((to) => [from, to] as const)
    }),
  )
}

/** The folders of each layer, by their paths in it. */
function foldersOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const folders = new Map<string, Set<string>>()
  for (const file of files) {
    const layer = layerOf(file)
    if (layer === undefined) continue
    const folder = path.relative(layer, path.dirname(file))
    const known = folders.get(layer) ?? new Set()
    folders.set(layer, folder === '' ? known : known.add(folder))
  }
  return new Map([...folders].map(([layer, inside]) => [layer, [...inside].toSorted()]))
}

function drawing(
  graph: Graph,
  folders: ReadonlyMap<string, readonly string[]>,
  isDrawn: (layer: string) => boolean,
): string {
  const layers = Object.keys(LAYERS).filter((layer) => graph.has(layer) && isDrawn(layer))
  const arrows = layers.flatMap((from) =>
    [...(graph.get(from) ?? [])].toSorted().map((to) => [from, to] as const),
  )
  const others = [...new Set(arrows.map(([, to]) => to))].filter((to) => !isDrawn(to))
  return [
    '```mermaid',
    'flowchart TD',
    ...layers.map((layer) => `  ${idOf(layer)}["${labelOf(layer, folders.get(layer) ?? [])}"]`),
    ...others.toSorted().map((layer) => `  ${idOf(layer)}(["${layer}"])`),
    ...arrows.map(([from, to]) => `  ${idOf(from)} --> ${idOf(to)}`),
    '```',
  ].join('\n')
}

function labelOf(layer: string, folders: readonly string[]): string {
  return [layer, ...folders.map((folder) => `· ${folder}`)].join('<br/>')
}

/** Mermaid takes "end" and slashes for syntax. */
function idOf(layer: string): string {
  return `L_${layer.replaceAll(/[^a-z]/g, '_')}`
}
