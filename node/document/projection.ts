// Projections: the parts of a document that a client asks for.
//
// A path is `a` or `a.b.c`; a segment may be `*`; `-path` excludes. Paths look into arrays. A
// container is left out if it holds nothing that was asked for. If all paths exclude, everything
// else is returned.

import { ServiceError } from '../../lib/errors.ts'
import { parseFieldPath } from './field-path.ts'
import { buildObject, isJsonArray, isJsonObject, memberOf } from './json-object.ts'
import type { FieldPath } from './field-path.ts'
import type { JsonObject, JsonValue } from './exact-json.ts'

const PROJECTION_FIELDS_MAX = 1000
const WILDCARD = '*'
const NONE: readonly ProjectionNode[] = []

/** Paths as a tree. `children` holds a wildcard under the name `*`. */
export interface ProjectionNode {
  isLeaf: boolean
  readonly children: Map<string, ProjectionNode>
}

/** Parsed paths, as a list and as a tree. Both describe the same paths. */
export interface PathSet {
  readonly paths: readonly FieldPath[]
  readonly root: ProjectionNode
}

/**
 * The paths that a client includes and excludes. If nothing is included, everything is, except what
 * is excluded.
 */
export interface Projection {
  readonly included: PathSet
  readonly excluded: PathSet
}

/**
 * Parses a list of paths. A string holds paths that are separated by commas, as a query parameter
 * does.
 */
export function parseProjection(fields: string | readonly string[]): Projection {
  const texts = typeof fields === 'string' ? fields.split(',').map((text) => text.trim()) : fields
  if (texts.length > PROJECTION_FIELDS_MAX) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `fields: at most ${PROJECTION_FIELDS_MAX} are allowed, not ${texts.length}`,
    )
  }
  const included: FieldPath[] = []
  const excluded: FieldPath[] = []
  for (const [index, text] of texts.entries()) {
    const where = `fields[${index}]`
    if (text.startsWith('-')) excluded.push(parseFieldPath(text.slice(1), where))
    else included.push(parseFieldPath(text, where))
  }
  return { included: buildPathSet(included), excluded: buildPathSet(excluded) }
}

/** Whether the client asks for the field by name. Only then is a virtual field computed. */
export function asksFor(projection: Projection, name: string): boolean {
  return projection.included.paths.some((path) => path.text === name)
}

/**
 * Projects a document. `virtuals` are computed fields; one is added if the client asks for it by
 * name and the document does not have it.
 */
export function project(
  document: JsonObject,
  projection: Projection,
  virtuals: JsonObject = {},
): JsonObject {
  const { included, excluded } = projection
  const given = Object.entries(virtuals).filter(
    ([name]) => asksFor(projection, name) && memberOf(document, name) === undefined,
  )
  const whole = given.length === 0 ? document : buildObject([...Object.entries(document), ...given])
  const kept = included.paths.length === 0 ? whole : pick(whole, [rootFor(whole, included)])
  const left = excluded.paths.length === 0 ? kept : omit(kept, [rootFor(whole, excluded)])
  return isJsonObject(left) ? left : {}
}

export function buildPathSet(paths: readonly FieldPath[]): PathSet {
  return { paths, root: buildTree(paths.map((path) => path.segments)) }
}

export function buildTree(paths: readonly (readonly string[])[]): ProjectionNode {
  const root: ProjectionNode = { isLeaf: false, children: new Map() }
  for (const segments of paths) {
    let node = root
    for (const segment of segments) {
      const child = node.children.get(segment) ?? { isLeaf: false, children: new Map() }
      node.children.set(segment, child)
      node = child
    }
    node.isLeaf = true
  }
  return root
}

/**
 * A path with dots first means the top-level member of exactly this name, then the nested value.
 */
function rootFor(document: JsonObject, { paths, root }: PathSet): ProjectionNode {
  const isLiteral = (path: FieldPath) =>
    path.segments.length > 1 && Object.hasOwn(document, path.text)
  if (!paths.some(isLiteral)) return root
  return buildTree(paths.map((path) => (isLiteral(path) ? [path.text] : path.segments)))
}

export function pick(value: JsonValue, nodes: readonly ProjectionNode[]): JsonValue | undefined {
  if (nodes.some((node) => node.isLeaf)) return value
  if (isJsonArray(value)) {
    const inside = insideArray(nodes)
    const kept = value.map((element) => pick(element, inside)).filter((left) => left !== undefined)
    return kept.length === 0 ? undefined : kept
  }
  if (!isJsonObject(value)) return undefined
  const members: [string, JsonValue][] = []
  for (const [name, member] of Object.entries(value)) {
    const next = childrenOf(nodes, name)
    const kept = next.length === 0 ? undefined : pick(member, next)
    if (kept !== undefined) members.push([name, kept])
  }
  return members.length === 0 ? undefined : buildObject(members)
}

export function omit(
  value: JsonValue | undefined,
  nodes: readonly ProjectionNode[],
): JsonValue | undefined {
  if (value === undefined || nodes.some((node) => node.isLeaf)) return undefined
  if (nodes.length === 0) return value
  if (isJsonArray(value)) {
    const inside = insideArray(nodes)
    return value.map((element) => omit(element, inside)).filter((left) => left !== undefined)
  }
  if (!isJsonObject(value)) return value
  const members: [string, JsonValue][] = []
  for (const [name, member] of Object.entries(value)) {
    const left = omit(member, childrenOf(nodes, name))
    if (left !== undefined) members.push([name, left])
  }
  return buildObject(members)
}

/** A path looks into an array. A wildcard may also stand for the array's elements. */
export function insideArray(nodes: readonly ProjectionNode[]): readonly ProjectionNode[] {
  return [...new Set([...nodes, ...childrenOf(nodes, WILDCARD)])]
}

export function childrenOf(
  nodes: readonly ProjectionNode[],
  name: string,
): readonly ProjectionNode[] {
  const [first] = nodes
  if (first === undefined) return NONE
  // Most projections are one tree without a wildcard, and most members are in none.
  if (nodes.length === 1 && !first.children.has(WILDCARD)) {
    const child = first.children.get(name)
    return child === undefined ? NONE : [child]
  }
  const found = new Set<ProjectionNode>()
  for (const { children } of nodes) {
    const named = children.get(name)
    const any = name === WILDCARD ? undefined : children.get(WILDCARD)
    if (named !== undefined) found.add(named)
    if (any !== undefined) found.add(any)
  }
  return [...found]
}
