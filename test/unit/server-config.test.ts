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

  it('names an option of the command line as it was written', () => {
    expect(() => parseNodeConfig({}, { apiPort: 'abc' })).to.throw('- --api-port: "abc" is not')
    expect(() => parseInferenceConfig({}, { healthPort: 'abc' })).to.throw('- --health-port: "abc"')
    expect(() => parseInferenceConfig({}, { port: 'abc' }, { port: '--inference-port' })).to.throw(
      '- --inference-port: "abc"',
    )
  })

  it('names a setting of the file as it is called there', () => {
    expect(() => parseNodeConfig({}, {}, 'api_port: 99999')).to.throw(
      '- api_port in the configuration file: "99999" is not',
    )
  })

  it('names a variable of the environment', () => {
    expect(() => parseNodeConfig({ QUARRY_API_PORT: 'x' }, {}, 'api_port: 1')).to.throw(
      '- QUARRY_API_PORT: "x"',
    )
    expect(() => parseInferenceConfig({ QUARRY_INFERENCE_PORT: 'x' })).to.throw(
      '- QUARRY_INFERENCE_PORT: "x"',
    )
  })
})
