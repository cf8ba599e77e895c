// A certificate for tests of TLS, its own authority: for the name images.test and the address 127.0.0.1,
// from 2020 to 2120. Made with OpenSSL, because Node makes keys but no certificates; with the file
// openssl.cnf as below, an empty file `index.txt` and a file `serial` that holds 01:
//
//   [ca]                          openssl req -new -newkey ec -nodes -config openssl.cnf \
//   default_ca = own                -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=images.test \
//   [own]                           -keyout key.pem -out request.pem
//   new_certs_dir = .             openssl ca -batch -selfsign -notext -config openssl.cnf \
//   database = index.txt            -keyfile key.pem -in request.pem -out certificate.pem \
//   serial = serial                 -startdate 20200101000000Z -enddate 21200101000000Z
//   default_md = sha256
//   policy = policy               [req]
//   x509_extensions = extensions  distinguished_name = name
//   [policy]                      [name]
//   commonName = supplied         [extensions]
//                                 basicConstraints = critical, CA:true
//                                 subjectAltName = DNS:images.test, IP:127.0.0.1

export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBbDCCAROgAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAtpbWFnZXMu
dGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLaW1hZ2VzLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARbrbYij56T
9LjXWKR6P940mfZDpWJczq+tnLCRqCLYuKFbR06Cl7wySkWjmTvPLVkiDyeNvBBn
8Ce20j9Hlyq5o1AwTjAPBgNVHRMBAf8EBTADAQH/MBwGA1UdEQQVMBOCC2ltYWdl
cy50ZXN0hwR/AAABMB0GA1UdDgQWBBSQ4gOQZN+kWYNOdPkTb167SGbyajAKBggq
hkjOPQQDAgNHADBEAiBD3oNIiT261oncOmrpfiuC4g8k1D7zbM/UF24gU8hWYQIg
NGTMwCzS3iWqjdblPPBHzCNC0SgoUiupomFnqEIDWTk=
-----END CERTIFICATE-----
`

/** Guards nothing but test servers. */
export const TEST_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtf3Ne9+ZS7c5I+ic
1V3ToeJJPYpYtwwDOAvVzXY6PE2hRANCAARbrbYij56T9LjXWKR6P940mfZDpWJc
zq+tnLCRqCLYuKFbR06Cl7wySkWjmTvPLVkiDyeNvBBn8Ce20j9Hlyq5
-----END PRIVATE KEY-----
`

/** Another authority and certificate, made in the same way: for the name next.images.test and the address 127.0.0.1. */
export const NEXT_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBfTCCASKgAwIBAgIBATAKBggqhkjOPQQDAjAbMRkwFwYDVQQDDBBuZXh0Lmlt
YWdlcy50ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAbMRkw
FwYDVQQDDBBuZXh0LmltYWdlcy50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAETRCweidpM9hb1jyESALYOiwRCWzDZadj2dN0TkPPfLL7pBbT1Qzt1sYVTaJu
Tw377/VEoa6mbHq6eGoVFU3i6KNVMFMwDwYDVR0TAQH/BAUwAwEB/zAhBgNVHREE
GjAYghBuZXh0LmltYWdlcy50ZXN0hwR/AAABMB0GA1UdDgQWBBTn3Lic3dBDcsao
O2bGTroczKkVbTAKBggqhkjOPQQDAgNJADBGAiEA2cAo8gyjwtoozq8eQKuzTt1s
plH5aI2zwUaGDd5aeikCIQCtR4IX9B066/rHeop0f0A6ZuLOKPCsY6dIId44myGk
sQ==
-----END CERTIFICATE-----
`

export const NEXT_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgup72Laq6ZnVtTmqX
337AVFoxIZYp9aBDf2cDCeYDXiWhRANCAARNELB6J2kz2FvWPIRIAtg6LBEJbMNl
p2PZ03ROQ898svukFtPVDO3WxhVNom5PDfvv9UShrqZserp4ahUVTeLo
-----END PRIVATE KEY-----
`
