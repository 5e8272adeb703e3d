package redact

// The flags that hold a password, for some programs only.
const (
	dashP   = 1 << iota // -p PASSWORD
	joinedP             // -pPASSWORD
	dashA               // -a PASSWORD
	dashW               // -w PASSWORD
	capital             // -P PASSWORD
	dashU               // -u user:password
)

var programs = map[string]byte{
	"mysql": joinedP, "mysqldump": joinedP, "mysqladmin": joinedP, "mariadb": joinedP, "mariadb-dump": joinedP,
	"sshpass": dashP | joinedP, "login": dashP, "mongo": dashP, "mongosh": dashP, "mongodump": dashP, "cqlsh": dashP,
	"redis-cli": dashA, "ldapsearch": dashW, "ldapadd": dashW, "ldapmodify": dashW, "ldappasswd": dashW,
	"sqlcmd": capital, "bcp": capital, "zip": capital, "unzip": capital, "7z": joinedP, "7za": joinedP,
	"curl": dashU, "http": 0, "wget": 0,
}

// flagValue reads a flag of a command, and removes its secret. It returns the position after it, or 0.
func (s *scan) flagValue(i, to int) int {
	if s.v.sign(i) != '-' {
		if to-i <= len("mariadb-dump") {
			s.flags |= programs[s.v.lower(i, to)]
		}
		return 0
	}
	flag := s.v.lower(i, min(to, i+16))
	switch {
	case flag == "--user" || flag == "--proxy-user" || flag == "--auth":
		return s.credentials(s.argument(to))
	case s.flags == 0:
		return 0
	case s.flags&dashU != 0 && flag == "-u":
		return s.credentials(s.argument(to))
	case s.flags&dashU != 0 && len(flag) > 2 && flag[:2] == "-u" && s.v.sign(to) == ':':
		return s.credentials(i + 2)
	case s.flags&dashP != 0 && flag == "-p", s.flags&dashA != 0 && flag == "-a", s.flags&dashW != 0 && flag == "-w",
		s.flags&capital != 0 && flag == "-p" && s.v.sign(i+1) == 'P':
		return s.takeArgument(s.argument(to))
	case s.flags&joinedP != 0 && flag[:min(2, len(flag))] == "-p" && s.v.sign(i+1) == 'p' && (to > i+2 || !isSpace(s.v.sign(to))):
		return s.takeArgument(i + 2)
	}
	return 0
}

// argument returns the position where the argument of a flag begins, or 0.
func (s *scan) argument(to int) int {
	j := to
	if s.v.sign(j) == '=' {
		return j + 1
	}
	for isBlank(s.v.sign(j)) {
		j++
	}
	if j == to {
		return 0
	}
	return j
}

// takeArgument removes an argument.
func (s *scan) takeArgument(from int) int {
	if from == 0 {
		return 0
	}
	from, to := s.limits.bounds(from, ' ')
	return s.out.take(from, to)
}

// credentials removes the password of user:password. It keeps the group of 1000:1000.
func (s *scan) credentials(from int) int {
	if from == 0 {
		return 0
	}
	digits := true
	for j := from; j < from+200; j++ {
		c := s.v.sign(j)
		if isSpace(c) {
			return 0
		}
		if c != ':' || j == from {
			digits = digits && (isDigit(c) || isQuote(c))
			continue
		}
		if digits && isDigit(s.v.sign(j+1)) {
			return 0
		}
		_, to := s.limits.bounds(from, ' ')
		return s.out.take(j+1, to)
	}
	return 0
}
