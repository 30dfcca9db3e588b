/* SPDX-License-Identifier: BSD-2-Clause */
/* kmem.c: kmem_alloc and device numbers for modules (<sys/ddi.h>). */
#include "heap.h"

#include <sys/ddi.h>

void *
kmem_alloc(size_t size, int flag)
{
	(void)flag;
	return size == 0 ? NULL : heap_alloc(size);
}

void *
kmem_zalloc(size_t size, int flag)
{
	(void)flag;
	return size == 0 ? NULL : heap_zalloc(size);
}

void
kmem_free(void *p, size_t size)
{
	heap_free(p, size);
}

dev_t
makedevice(unsigned int maj, unsigned int min)
{
	return (dev_t)maj << 32 | min;
}

unsigned int
getmajor(dev_t dev)
{
	return (unsigned int)(dev >> 32);
}

unsigned int
getminor(dev_t dev)
{
	return (unsigned int)dev;
}
