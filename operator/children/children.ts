// Which objects of a cluster are not as they are to be.
//
// Invariants:
//   CHI1  An object with a needed name and without the cluster's UID is named as foreign, and never as outdated or surplus.
//   CHI2  Only an object that the cluster's operator controls is surplus: people may make the cluster an owner of theirs.
//   CHI3  When each outdated wish was applied once, none is outdated until the wish or the object changes.

import type { ChildrenView } from '../machines/observed/kubernetes-view.ts'
import { buildChildren } from '../resources/cluster-objects.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { objectNames } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { Applier, Wish } from '../runtime/writes/applier.ts'
import { CHILD_KINDS, kindNamed } from './child-kinds.ts'

/** What is to be there but sets and Secrets, by `Kind/name`, in the order in which it is applied. */
export type Wishes = ReadonlyMap<string, Wish>

/** What children are told from. */
export interface ChildrenSources {
  readonly input: ClusterInput
  /** As `liveChildren` answers. */
  readonly live: readonly StoredObject[]
  /** Names of Secrets, which are compared elsewhere. */
  readonly secrets: Pick<ChildrenView, 'outdated' | 'foreign'>
  readonly applier: Pick<Applier, 'isApplied'>
}

/** The view of the machines, and the wishes that its outdated names are about. */
export interface Children extends ChildrenView {
  readonly wishes: Wishes
}

/** Secrets come first: pods start with them. */
export function childrenOf({ input, live, secrets, applier }: ChildrenSources): Children {
  const { uid } = input.cluster
  const found = new Map(live.map((object) => [nameOf(object), object]))
  const wishes = wishesOf(input, found)
  const needed = [...wishes.keys(), ...setNames(input)]
  const foreign = needed.filter((name) => {
    const object = found.get(name)
    return object !== undefined && !isOwnedBy(object, uid)
  })
  const isForeign = new Set(foreign)
  const outdated = [...wishes]
    .filter(([name, wish]) => !isForeign.has(name) && isOutdated(wish, applier))
    .map(([name]) => name)
  const surplus = live
    .filter((object) => isSurplus(object, uid) && !needed.includes(nameOf(object)))
    .map(nameOf)
  return {
    outdated: [...secrets.outdated, ...outdated],
    surplus: surplus.toSorted(),
    foreign: [...secrets.foreign, ...foreign],
    wishes,
  }
}

function wishesOf(input: ClusterInput, found: ReadonlyMap<string, StoredObject>): Wishes {
  return new Map(
    buildChildren(input).map((built) => {
      const name = nameOf(built)
      return [name, { kind: kindNamed(built.kind), object: { ...built }, live: found.get(name) }]
    }),
  )
}

/** `Kind/name` of an object of the cluster's namespace. */
export function nameOf({
  kind,
  metadata,
}: {
  readonly kind: string
  readonly metadata: { readonly name: string }
}): string {
  return `${kind}/${metadata.name}`
}

/** The sets of the cluster. Their machines say when they are made; that somebody else has the name is told at once. */
export function setNames({ cluster, decided }: ClusterInput): readonly string[] {
  const { nodeSet, etcdSet } = objectNames(cluster.name)
  const sets = decided.etcd === undefined ? [nodeSet] : [nodeSet, etcdSet]
  return sets.map((name) => `StatefulSet/${name}`)
}

export function isOwnedBy({ metadata }: StoredObject, uid: string): boolean {
  return (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid)
}

/** An object that is on its way out cannot be mended: it is made again when it is gone. */
function isOutdated(wish: Wish, applier: Pick<Applier, 'isApplied'>): boolean {
  return wish.live?.metadata.deletionTimestamp === undefined && !applier.isApplied(wish)
}

/** CHI2. */
function isSurplus({ kind, metadata }: StoredObject, uid: string): boolean {
  const isChild = CHILD_KINDS.some((name) => name === kind)
  const { ownerReferences = [], deletionTimestamp } = metadata
  const isControlled = ownerReferences.some((owner) => owner.uid === uid && owner.controller)
  return isChild && isControlled && deletionTimestamp === undefined
}
