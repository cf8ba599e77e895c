import { expect } from 'chai'
import { ConfigurationError, readOptions } from '../../../../lib/options.ts'
import { MEDIA_OPTIONS, mediaSettingsOf } from '../../../../node/media/media-options.ts'
import {
  MEDIA_SETTINGS_DEFAULT,
  type MediaSettings,
} from '../../../../node/media/media-settings.ts'

function settingsOf(env: Readonly<Record<string, string>>): MediaSettings {
  return mediaSettingsOf(readOptions(MEDIA_OPTIONS, { env }), env)
}

describe('the options of media', () => {
  it('allow any public host, and no directory or bucket, by default', () => {
    expect(settingsOf({})).to.deep.equal(MEDIA_SETTINGS_DEFAULT)
    expect(settingsOf({ QUARRY_MEDIA_HOSTS: '*' })).to.deep.equal(MEDIA_SETTINGS_DEFAULT)
  })

  it('name hosts, which may be private where that is said', () => {
    const env = { QUARRY_MEDIA_HOSTS: 'media.example, *.cdn.example,[::1]' }

    expect(settingsOf(env)).to.deep.include({
      allowedHosts: ['media.example', '*.cdn.example', '::1'],
      blockPrivateIps: true,
    })
    expect(settingsOf({ ...env, QUARRY_MEDIA_PRIVATE: 'true' })).to.include({
      blockPrivateIps: false,
    })
  })

  it('refuse private addresses for hosts that nobody named', () => {
    for (const QUARRY_MEDIA_HOSTS of ['*', 'media.example,*']) {
      expect(() => settingsOf({ QUARRY_MEDIA_HOSTS, QUARRY_MEDIA_PRIVATE: 'true' })).to.throw(
        ConfigurationError,
        'without them every client could read',
      )
    }
    expect(() => settingsOf({ QUARRY_MEDIA_PRIVATE: 'true' })).to.throw(ConfigurationError)
  })

  it('refuse URLs as hosts, and directories that depend on where the server starts', () => {
    for (const wrong of ['https://media.example', 'media.example/a', 'a b', '*example']) {
      expect(() => settingsOf({ QUARRY_MEDIA_HOSTS: wrong })).to.throw(ConfigurationError, wrong)
    }
    expect(() => settingsOf({ QUARRY_MEDIA_DIRS: '/srv/media,photos' })).to.throw(
      ConfigurationError,
      'absolute paths',
    )
  })

  it('read buckets with what the variables of the AWS tools say', () => {
    const env = {
      QUARRY_MEDIA_BUCKETS: 'photos',
      AWS_ENDPOINT_URL_S3: 'http://minio.internal:9000',
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
    }

    const { s3 } = settingsOf(env)

    expect(s3?.endpoint.host).to.equal('minio.internal:9000')
    expect(s3).to.deep.include({ region: 'eu-west-1', buckets: ['photos'] })
    expect(s3?.credentials).to.include({ accessKeyId: 'id' })
    expect(() => settingsOf({ ...env, AWS_ENDPOINT_URL_S3: 'minio' })).to.throw(ConfigurationError)
  })

  it('bound files, downloads, images and memory', () => {
    expect(
      settingsOf({
        QUARRY_MEDIA_DIRS: '/srv/media, /srv/more',
        QUARRY_MEDIA_BYTES_MAX: '1000',
        QUARRY_MEDIA_TIMEOUT_MS: '500',
        QUARRY_MEDIA_IMAGE_PIXELS: '512',
        QUARRY_MEDIA_MEMORY_BYTES: '100000000',
      }),
    ).to.deep.equal({
      ...MEDIA_SETTINGS_DEFAULT,
      allowedDirectories: ['/srv/media', '/srv/more'],
      downloadBytesMax: 1000,
      downloadTimeoutMs: 500,
      imageEdgePixelsMax: 512,
      heldBytesMax: 100_000_000,
    })
  })
})
