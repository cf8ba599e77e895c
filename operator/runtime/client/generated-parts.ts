// What the class KubeConfig uses of the generated part of its library: kube-config.ts says why only that is loaded.

export { createConfiguration } from '@kubernetes/client-node/dist/gen/configuration.js'
export { ServerConfiguration } from '@kubernetes/client-node/dist/gen/servers.js'
