/* The plugin of fault.alloc.source-typo. */
int f(int x)
{
    return x + tow;
}
