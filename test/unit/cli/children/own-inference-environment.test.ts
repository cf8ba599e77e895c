import { expect } from 'chai'
import { INFERENCE_OPTIONS } from '../../../../inference/config.ts'
import { ownInferenceEnvironment } from '../../../../cli/children/own-inference-environment.ts'

describe('the environment of the inference server that a store starts', () => {
  it('has every option of the server, and no other variable of the store', () => {
    const options = Object.values(INFERENCE_OPTIONS).map(({ variable }) => [variable, 'x'])
    const run = { ...Object.fromEntries(options), PATH: '/bin', https_proxy: 'http://proxy' }
    const secrets = {
      OPENAI_API_KEY: 'sk',
      AWS_SECRET_ACCESS_KEY: 'sk',
      QUARRY_CLUSTER_SECRET_FILE: '/secret',
      QUARRY_SECRETS_DIR: '/secrets',
      NODE_AUTH_TOKEN: 't',
      MODELS_KEY: 'k',
    }

    expect(ownInferenceEnvironment({ ...run, ...secrets })).to.deep.equal(run)
  })
})
