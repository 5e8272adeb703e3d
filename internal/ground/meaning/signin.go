package meaning

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// SignsIn reports whether an answer of an address sends to where a person signs in: a redirect to an address that names a
// sign-in. location is its Location. A name that the first address has, too, says nothing; and neither does the host of the
// same path, because both are other addresses of the same thing.
func SignsIn(status int, from, location string) bool {
	base, err := url.Parse(from)
	if !Redirects(status) || err != nil {
		return false
	}
	to, err := base.Parse(strings.TrimSpace(location))
	if err != nil {
		return false
	}
	if strings.Trim(to.Path, "/") == strings.Trim(base.Path, "/") {
		to.Host = base.Host
	}
	known := signInNames(base)
	return slices.ContainsFunc(signInNames(to), func(name string) bool { return !slices.Contains(known, name) })
}

// signInNames returns the words of an address that name a sign-in.
func signInNames(u *url.URL) []string {
	names := strings.FieldsFunc(strings.ToLower(u.Host+"/"+u.Path), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i := range len(names) - 1 {
		names = append(names, names[i]+names[i+1]) // sign-in, log_in
	}
	for name := range u.Query() {
		names = append(names, strings.ToLower(name))
	}
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(signIns, name) })
}

// signIns are the words of addresses where people sign in: of paths and hosts, and the parameters of OAuth and SAML.
var signIns = []string{
	"login", "signin", "logon", "signon", "sso", "saml", "saml2", "oauth", "oauth2", "oidc", "openid", "authorize", "authenticate", "authentication", "auth", "idp", "adfs",
	"accounts", "auth0", "okta", "cognito", "keycloak", "acceso", "acceder", "response_type", "client_id", "redirect_uri", "samlrequest",
}
