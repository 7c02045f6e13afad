// The guest of reuse_test.cc: a static program that either does random things (stir.c) or writes
// down all that it can find out (probe.c).
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/// Calls random system calls, `steps` of them, all decided by `seed`. `numbers` has the system
/// calls that the filter allows, separated by commas.
int Stir(uint64_t seed, long steps, char* numbers);

/// A random number, at least 0.
long Below(long limit);
/// Makes a call with six random arguments.
void AnyArguments(int number);

/// Whether only MakeLastCall() makes this call.
int MayEndTheCaller(int number);
/// Makes this call, or any that may end the caller when `number` is -1. May return.
void MakeLastCall(int number);
void MakeLastCallInChild(int number);
/// Says of each call how sequences make it; those that may end the caller are made once.
int SayCalls(char* numbers);

enum Depth {
  kPassive,  ///< makes no process, object or file, so that what is shared stays as it is
  kActive,   ///< also makes processes, files and kernel objects, and prints their numbers
};
int Probe(enum Depth depth);

/// One line: a key, a tab and a value.
__attribute__((format(printf, 2, 3))) void Say(const char* key, const char* format, ...);
/// The same with bytes that may be anything.
void SayBytes(const char* key, const void* bytes, size_t size);
/// What sockets tell: options, ports, names and answers of netlink.
void ProbeSockets(void);
