// Package command owns what Piloto knows of shell commands: how dangerous one is,
// which steps carry one, whether one failed, and what other command may stand in
// for one that did.
//
// Nothing here runs a command: that is what the server does that a step calls. A
// command is read only to say how much a person should look at it, and the reading
// errs to one side. Whatever is not known to be harmless is Sensitive: a program of
// no list, a flag of no list, a name that is computed, a text that does not parse.
// Only a text whose every part is known to read, and to read no secret, is Safe.
//
// The shell is parsed, and what it would see is what is judged: 'rm', r"m" and \rm
// are one program, and so is $X where the same text says X=rm. Texts that a command
// hands to another shell (bash -c, eval, ssh, find -exec, xargs) are judged too.
//
// Another command is accepted from a model only when it is no more dangerous than
// what a person has confirmed, and never when it destroys.
package command
