// SPDX-License-Identifier: MIT
//
// Every allocation of C++'s is counted. A file of its own, so that the compiler does not see through it.
#include <atomic>
#include <cstdlib>
#include <new>

extern std::atomic<unsigned long> allocations;
std::atomic<unsigned long> allocations{ 0 };

void *operator new(std::size_t octets)
{
    allocations++;
    if (void *memory = std::malloc(octets ? octets : 1)) return memory;
    throw std::bad_alloc();
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}
