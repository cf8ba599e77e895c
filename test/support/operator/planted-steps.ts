// Executors of steps that overlook something: the scenarios must tell each of them.

import { ABSENT } from '../../../operator/runtime/api/kubernetes-api.ts'
import type { ObjectMetadata, ObjectRef } from '../../../operator/runtime/api/api-object.ts'
import type { KubernetesApi, ObjectPatch } from '../../../operator/runtime/api/kubernetes-api.ts'
import type { Plant, StepWorld } from './step-world.ts'

const { signal } = new AbortController()

/** It does not look whether the cluster is still as it was read. */
export const believesCluster: Plant = (world, api) => ({
  get: async (ref) => {
    const live = await api.get(ref, signal)
    return ref.kind.kind === 'StoreCluster' ? world.asDecided(ref, live) : live
  },
})

/** Its writes go to whatever version is there. */
export const namesNoVersion: Plant = (world, api) => blindWrites(world, api, ['resourceVersion'])

/** It takes whatever has the name for the object that was read. */
export const namesNoObject: Plant = (world, api) => ({
  ...blindWrites(world, api, ['resourceVersion', 'uid']),
  get: async (ref) => {
    const live = await api.get(ref, signal)
    return ref.kind.kind === 'StoreCluster' ? live : world.asDecided(ref, live)
  },
})

/** It makes a set although one has appeared. */
export const makesOver: Plant = (_world, api) => ({
  apply: (request) => {
    const { metadata } = request.object
    const isMade = metadata.resourceVersion === ABSENT
    const object = isMade
      ? { ...request.object, metadata: without(metadata, ['resourceVersion']) }
      : request.object
    return api.apply({ ...request, object }, signal)
  },
})

type Names = readonly ('uid' | 'resourceVersion')[]

function blindWrites(world: StepWorld, api: KubernetesApi, names: Names): Partial<KubernetesApi> {
  const liveNow = async (ref: ObjectRef): Promise<Partial<ObjectMetadata>> => {
    // What comes late has come before these look.
    await world.comeLate()
    const { uid, resourceVersion } = (await world.fake.get(ref, signal))?.metadata ?? {}
    const all = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    }
    return Object.fromEntries(
      Object.entries(all).filter(([name]) => names.some((one) => one === name)),
    )
  }
  return {
    apply: async (request) => {
      await world.comeLate()
      const metadata = without(request.object.metadata, names)
      return api.apply({ ...request, object: { ...request.object, metadata } }, signal)
    },
    patch: async (request) => {
      await world.comeLate()
      return api.patch({ ...request, patch: blindPatch(request.patch, names) }, signal)
    },
    delete: async (request) => api.delete({ ...request, ...(await liveNow(request.ref)) }, signal),
  }
}

function blindPatch(patch: ObjectPatch, names: Names): ObjectPatch {
  if (patch.type === 'json') {
    const tests = new Set(names.map((name) => `/metadata/${name}`))
    return {
      ...patch,
      steps: patch.steps.filter(({ op, path }) => op !== 'test' || !tests.has(path)),
    }
  }
  const value: Readonly<Record<string, unknown>> = Object(patch.value)
  return { ...patch, value: { ...value, metadata: without(Object(value['metadata']), names) } }
}

function without(metadata: ObjectMetadata, names: Names): ObjectMetadata {
  const { uid, resourceVersion, ...rest } = metadata
  return {
    ...rest,
    ...(uid === undefined || names.includes('uid') ? {} : { uid }),
    ...(resourceVersion === undefined || names.includes('resourceVersion')
      ? {}
      : { resourceVersion }),
  }
}
