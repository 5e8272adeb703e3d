// Package version owns the version of the product: of the command line, of /config, of /health and of the API's
// document.
package version

// Version follows semver.org.
const Version = "0.6.0"
