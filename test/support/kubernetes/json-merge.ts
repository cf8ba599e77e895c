// How the fake API server changes objects: JSON patches, merge patches, and applied fields.

import { isDeepStrictEqual } from 'node:util'
import { isJsonRecord } from '../../../lib/json-record.ts'
import type { JsonPatchStep } from '../../../operator/runtime/api/kubernetes-api.ts'

export type Json = Record<string, unknown>

export function isJson(value: unknown): value is Json {
  return isJsonRecord(value)
}

/** A record itself; an empty one for anything else. */
export function recordOf(value: unknown): Json {
  return isJson(value) ? value : {}
}

/** RFC 7386. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isJsonRecord(patch)) return structuredClone(patch)
  const result: Json = isJsonRecord(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merged(result[name], value)
  }
  return result
}

/** RFC 6902, as far as the operator uses it; undefined if a test does not hold or a path leads nowhere. */
export function patched(target: Json, steps: readonly JsonPatchStep[]): Json | undefined {
  const root: Json = { root: structuredClone(target) }
  return steps.every((step) => applyStep(root, step)) ? recordOf(root['root']) : undefined
}

function applyStep(root: Json, { op, path, value }: JsonPatchStep): boolean {
  const names = ['root', ...path.split('/').slice(1).map(unescaped)]
  const last = names.pop() ?? ''
  let parent: unknown = root
  for (const name of names) parent = recordOf(parent)[name]
  if (Array.isArray(parent)) return applyToList(parent, last, { op, path, value })
  return isJson(parent) && applyToRecord(parent, last, { op, path, value })
}

function applyToRecord(parent: Json, name: string, { op, value }: JsonPatchStep): boolean {
  if (op === 'test') return isDeepStrictEqual(parent[name], value)
  if (op !== 'add' && !(name in parent)) return false
  if (op === 'remove') delete parent[name]
  else parent[name] = structuredClone(value)
  return true
}

function applyToList(parent: unknown[], name: string, { op, value }: JsonPatchStep): boolean {
  const at = name === '-' ? parent.length : Number(name)
  if (op === 'test') return isDeepStrictEqual(parent[at], value)
  if (op === 'add') return at <= parent.length && parent.splice(at, 0, value).length === 0
  if (at >= parent.length) return false
  if (op === 'remove') parent.splice(at, 1)
  else parent[at] = value
  return true
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Each leaf of an object by its path, written as JSON. Lists are leaves: the fake merges none of them. */
export function leavesOf(value: unknown, path: readonly string[] = []): Map<string, unknown> {
  if (!isJsonRecord(value) || Object.keys(value).length === 0) {
    return new Map([[JSON.stringify(path), value]])
  }
  const inside = Object.entries(value).map(([name, member]) => leavesOf(member, [...path, name]))
  return new Map(inside.flatMap((leaves) => [...leaves]))
}

export function leafAt(value: unknown, path: string): unknown {
  return namesIn(path).reduce<unknown>((at, name) => recordOf(at)[name], value)
}

/** The names on a path that `leavesOf` wrote. */
export function namesIn(path: string): string[] {
  const names: unknown = JSON.parse(path)
  return Array.isArray(names) ? names.map(String) : []
}

export function setLeaf(target: Json, path: string, value: unknown): void {
  const names = namesIn(path)
  const last = names.pop() ?? ''
  let at = target
  for (const name of names) {
    const inner = recordOf(at[name])
    at[name] = inner
    at = inner
  }
  if (value === undefined) delete at[last]
  else at[last] = structuredClone(value)
}
