// The class KubeConfig of @kubernetes/client-node, without the 830 generated modules that the library loads with it: a class
// for each kind and for each group of the API, which take 40 MiB. Of all those it needs two functions, so its one import of
// them is answered with `generated-parts.ts`.

import { registerHooks } from 'node:module'
import type * as Library from '@kubernetes/client-node/dist/config.js'

const CONFIG_MODULE = '@kubernetes/client-node/dist/config.js'
const ALL_GENERATED = './gen/index.js'
const PARTS = new URL('generated-parts.ts', import.meta.url).href

/** Reads kubeconfigs, and gives requests their credentials and TLS. */
export const { KubeConfig } = await loadLibrary()
export type KubeConfig = Library.KubeConfig

async function loadLibrary(): Promise<typeof Library> {
  const library = import.meta.resolve(CONFIG_MODULE)
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const isWhole = specifier === ALL_GENERATED && context.parentURL === library
      return next(isWhole ? PARTS : specifier, context)
    },
  })
  try {
    return await import('@kubernetes/client-node/dist/config.js')
  } finally {
    hooks.deregister()
  }
}
