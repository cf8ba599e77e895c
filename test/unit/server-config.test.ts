import { expect } from 'chai'
import { parseInferenceConfig } from '../../inference/config.ts'
import { parseNodeConfig } from '../../node/config.ts'

describe('the configuration of a server', () => {
  it('has ports of its own by default: store and inference server run beside each other', () => {
    const store = parseNodeConfig({})
    const inference = parseInferenceConfig({})

    const ports = [store.apiPort, store.healthPort, inference.port, inference.healthPort]

    expect(new Set(ports).size).to.equal(4)
  })

  it('names a wrong option of the command line as it was written', () => {
    const names = { port: '--inference-port' }

    expect(() => parseNodeConfig({}, { apiPort: 'abc' })).to.throw('- --api-port: "abc" is not')
    expect(() => parseInferenceConfig({}, { healthPort: 'abc' })).to.throw('- --health-port: "abc"')
    expect(() => parseInferenceConfig({}, { port: 'abc' }, { names })).to.throw(
      '- --inference-port: "abc"',
    )
  })

  it('names a wrong setting of the file with the file and its name there', () => {
    const node = { path: 'etc/quarry.yaml', text: 'api_port: 99999' }
    const inference = { path: 'inference.json', text: '{"keep_alive_ms": "soon"}' }

    expect(() => parseNodeConfig({}, {}, node)).to.throw(
      '- etc/quarry.yaml: api_port: "99999" is not an integer from 0 to 65535',
    )
    expect(() => parseInferenceConfig({}, {}, { file: inference })).to.throw(
      '- inference.json: keep_alive_ms: "soon" is not an integer',
    )
  })

  it('names a wrong variable of the environment', () => {
    const file = { path: 'quarry.yaml', text: 'api_port: 1' }

    expect(() => parseNodeConfig({ QUARRY_API_PORT: 'x' }, {}, file)).to.throw(
      '- QUARRY_API_PORT: "x"',
    )
    expect(() => parseInferenceConfig({ QUARRY_INFERENCE_PORT: 'x' })).to.throw(
      '- QUARRY_INFERENCE_PORT: "x"',
    )
  })

  it('takes every setting from a file', () => {
    const file = { path: 'inference.yaml', text: 'media_hosts: "*"\nexact_rows: true\nworkers: 2' }

    expect(parseInferenceConfig({}, {}, { file })).to.include({ exactRows: true, workers: 2 })
    expect(parseInferenceConfig({}, {}, { file }).mediaHosts).to.deep.equal([])
  })

  it('demands enough memory for a worker of the inference server without models', () => {
    const env = { QUARRY_INFERENCE_WORKER_MEMORY_BYTES_MAX: '1000' }

    expect(() => parseInferenceConfig(env)).to.throw('is not 0 or an integer from 1073741824 to')
  })
})
