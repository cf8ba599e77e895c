import { expect } from 'chai'
import { s3Headers, s3SettingsOf, s3TargetOf } from '../../../../node/media/s3-source.ts'
import { errorOf } from '../../../support/error-of.ts'

const NOW_MS = Date.UTC(2013, 4, 24)
/** The key of the examples in Amazon's description of signatures. */
const KEYS = {
  AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  AWS_REGION: 'eu-west-1',
}
const settings = s3SettingsOf({ ...KEYS, AWS_ENDPOINT_URL_S3: 'http://minio.internal:9000' }, [
  'photos',
])

describe('media in S3', () => {
  it('lie at the configured endpoint, where the bucket is allowed', () => {
    for (const url of ['s3://photos/a/b c+d.png', 's3://minio.internal:9000/photos/a/b c+d.png']) {
      expect(s3TargetOf(url, settings)).to.deep.equal({
        url: new URL('http://minio.internal:9000/photos/a/b%20c%2Bd.png'),
        isConfigured: true,
      })
    }
  })

  it('lie in Amazon’s region without an endpoint', () => {
    const amazon = s3SettingsOf(KEYS, ['*'])

    expect(s3TargetOf('s3://photos/a.png', amazon).url.href).to.equal(
      'https://s3.eu-west-1.amazonaws.com/photos/a.png',
    )
  })

  it('lie at another server without credentials, by TLS', () => {
    for (const known of [settings, undefined]) {
      expect(s3TargetOf('s3://store.example.org/any/a.png', known)).to.deep.equal({
        url: new URL('https://store.example.org/any/a.png'),
        isConfigured: false,
      })
    }
  })

  const refusals: Readonly<Record<string, readonly [url: string, why: string]>> = {
    'a bucket that is not listed': [
      's3://secrets/a',
      'bucket secrets is not among the allowed buckets',
    ],
    'a bucket that is not listed, with the endpoint': [
      's3://minio.internal:9000/secrets/a',
      'not among the allowed',
    ],
    'a way into another bucket': ['s3://photos/../secrets/a', 'must not have a part . or ..'],
    'a way up within a key': ['s3://photos/a/../../secrets/a', 'must not have a part . or ..'],
    'no key': ['s3://photos/', 'it must have the form'],
    'no bucket': ['s3:///a', 'it must have the form'],
    'a query': ['s3://photos/a?versionId=1', 'it must have the form'],
    'a password': ['s3://me:secret@photos/a/b', 'it must have the form'],
  }
  for (const [what, [url, why]] of Object.entries(refusals)) {
    it(`are refused: ${what}`, async () => {
      const error = await errorOf(() => s3TargetOf(url, settings))

      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error).to.have.property('message').that.includes(why)
    })
  }

  it('are refused where nothing is configured', async () => {
    const error = await errorOf(() => s3TargetOf('s3://photos/a', undefined))

    expect(error).to.have.property('message', 'bucket photos is not among the allowed buckets')
  })

  it('are asked for with a signature of the request', async () => {
    const { url } = s3TargetOf('s3://photos/a b.png', settings)

    const headers = await s3Headers(url, settings, NOW_MS)

    expect(headers['x-amz-date']).to.equal('20130524T000000Z')
    expect(headers['authorization']).to.match(
      /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/eu-west-1\/s3\/aws4_request, SignedHeaders=host;/,
    )
    expect(JSON.stringify(headers)).not.to.include(KEYS.AWS_SECRET_ACCESS_KEY)
  })

  it('are asked for without a signature where there are no credentials', async () => {
    const open = s3SettingsOf({}, ['*'])

    expect(
      await s3Headers(new URL('https://s3.us-east-1.amazonaws.com/b/k'), open, NOW_MS),
    ).to.deep.equal({})
  })
})
