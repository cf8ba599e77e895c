import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { KubeConfig as LibrarysOwn } from '@kubernetes/client-node'
import { expect } from 'chai'
import { KubeConfig } from '../../../../../operator/runtime/client/kube-config.ts'

const run = promisify(execFile)
const CLIENT = import.meta.resolve(
  '../../../../../operator/runtime/client/kubernetes-client.ts',
  import.meta.url,
)
const CONFIG = import.meta.resolve(
  '../../../../../operator/runtime/client/kube-config.ts',
  import.meta.url,
)

/** What a process prints that loads the client alone: here, all of the library is loaded. */
async function printed(script: string): Promise<string> {
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await run(process.execPath, args)
  return stdout.trim()
}

describe('KubeConfig', () => {
  it('is the class of the library, also where all of the library is loaded', () => {
    expect(KubeConfig).to.equal(LibrarysOwn)
  })

  it('is loaded without the classes of all kinds, which take 40 MiB', async () => {
    const loaded = await printed(`
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({
        load: (url, context, next) => {
          const [, file] = url.split('/client-node/dist/')
          if (file !== undefined) loaded.push(file)
          return next(url, context)
        },
      })
      await import('${CONFIG}')
      await import('${CLIENT}')
      console.log(loaded.join(' '))`)

    expect(loaded).to.include('config.js')
    expect(loaded).to.not.match(/gen\/(?:apis|models|types)\//)
  })

  it('makes clients of the library as it does with all of it', async () => {
    const configuration = await printed(`
      const { KubeConfig } = await import('${CONFIG}')
      const config = new KubeConfig()
      config.loadFromClusterAndUser({ name: 'one', server: 'https://one:6443' }, { name: 'ada' })
      const { baseServer, authMethods } = config.makeApiClient(
        class {
          constructor(configuration) {
            return configuration
          }
        },
      )
      console.log(baseServer.getUrl(), authMethods.default === config)`)

    expect(configuration).to.equal('https://one:6443 true')
  })
})
